#pragma once

#include "cli/arguments.h"

namespace burnish::cli {

// One function a verb, each in a file of its own; they only parse, call and print.
void add_doctor(CommandLine& line, Common& common);
void add_init(CommandLine& line, Common& common);
void add_status(CommandLine& line, Common& common);
void add_check(CommandLine& line, Common& common);
void add_bench(CommandLine& line, Common& common);
void add_stages(CommandLine& line, Common& common);
void add_profile(CommandLine& line, Common& common);
void add_run(CommandLine& line, Common& common);
void add_memory(CommandLine& line, Common& common);
void add_evidence(CommandLine& line, Common& common);
void add_isa(CommandLine& line, Common& common);
void add_occupancy(CommandLine& line, Common& common);
void add_spec(CommandLine& line, Common& common);
void add_wiki(CommandLine& line, Common& common);
void add_demo(CommandLine& line, Common& common);

}  // namespace burnish::cli
