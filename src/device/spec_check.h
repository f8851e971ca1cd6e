#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "hardware/roofline.h"
#include "hardware/spec.h"

namespace burnish::device {

/// A value of a hardware card beside what a device says of itself, or reached.
struct SpecCheck {
  const hardware::SpecValue* card = nullptr;
  std::optional<double> found;  ///< absent where the device can be neither asked nor measured
  std::string how;              ///< "the driver", or how it was measured
  std::optional<bool> agrees;
  std::string why;  ///< of a contradiction, or how near a peak came
};

/// One entry for each number of the card, in its order. What a driver answers agrees when it is the
/// same (clocks and visible memory: within 1 %), a measured value within 10 %. A peak agrees when
/// between half of it and 3 % more was reached: more contradicts it, less leaves it open whether
/// the card or the measurement is wrong, and is reported as a contradiction too.
std::vector<SpecCheck> check_spec(const hardware::Spec& spec, const DeviceInfo& info,
                                  const std::vector<hardware::Ceiling>& ceilings);

/// The card of a device: by the name its driver prints, and for a CPU the class's card.
Result<hardware::Spec> spec_of(const DeviceInfo& info);

}  // namespace burnish::device
