#pragma once

#include <memory>

#include "engine/profile/session_profile.h"
#include "engine/session.h"
#include "engine/session_for_tests.h"

namespace plimsoll::engine {

// A session, and the recorder that it tells of its runs.
struct Profiled {
  explicit Profiled(const ProfileOptions& options = {}, SessionOptions session = {})
      : profile(std::make_shared<SessionProfile>(options)) {
    session.profile = profile;
    this->session = MakeSession(session);
  }
  std::shared_ptr<SessionProfile> profile;
  std::unique_ptr<Session> session;
};

}  // namespace plimsoll::engine
