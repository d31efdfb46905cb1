// `simdjson decode FILE COUNT` prints the nanoseconds of processor time for reading once, on demand, into std::string.

#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

using namespace simdjson;

struct User { std::string id, name, avatar, backgroundImage; };
struct Author { std::string name, avatar; };
struct Liker { std::string id, avatar; };
struct Moment {
  std::string id;
  Author userDetails;
  std::string type;
  std::optional<std::string> title, url;
  std::vector<std::string> photos;
  std::string createdDate;
  std::optional<bool> isLiked;
  std::optional<std::vector<Liker>> likes;
};
struct Timeline {
  User userDetails;
  std::vector<Moment> moments;
};

static std::string text(ondemand::value value) { return std::string(std::string_view(value.get_string())); }

static std::optional<std::string> optionalText(ondemand::value value) {
  if (value.is_null()) return std::nullopt;
  return text(value);
}

static Moment moment(ondemand::object object) {
  Moment result;
  for (auto field : object) {
    std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (key == "id") result.id = text(value);
    else if (key == "userDetails") {
      for (auto inner : value.get_object()) {
        std::string_view name = inner.unescaped_key();
        if (name == "name") result.userDetails.name = text(inner.value());
        else if (name == "avatar") result.userDetails.avatar = text(inner.value());
      }
    } else if (key == "type") result.type = text(value);
    else if (key == "title") result.title = optionalText(value);
    else if (key == "url") result.url = optionalText(value);
    else if (key == "photos") {
      for (auto photo : value.get_array()) result.photos.push_back(text(photo.value()));
    } else if (key == "createdDate") result.createdDate = text(value);
    else if (key == "isLiked") result.isLiked = bool(value.get_bool());
    else if (key == "likes") {
      result.likes.emplace();
      for (auto element : value.get_array()) {
        Liker liker;
        for (auto inner : element.get_object()) {
          std::string_view name = inner.unescaped_key();
          if (name == "id") liker.id = text(inner.value());
          else if (name == "avatar") liker.avatar = text(inner.value());
        }
        result.likes->push_back(std::move(liker));
      }
    }
  }
  return result;
}

static Timeline timeline(ondemand::parser &parser, const padded_string &json) {
  Timeline result;
  ondemand::document document = parser.iterate(json);
  for (auto field : document.get_object()) {
    std::string_view key = field.unescaped_key();
    if (key == "userDetails") {
      for (auto inner : field.value().get_object()) {
        std::string_view name = inner.unescaped_key();
        if (name == "id") result.userDetails.id = text(inner.value());
        else if (name == "name") result.userDetails.name = text(inner.value());
        else if (name == "avatar") result.userDetails.avatar = text(inner.value());
        else if (name == "backgroundImage") result.userDetails.backgroundImage = text(inner.value());
      }
    } else if (key == "moments") {
      for (auto element : field.value().get_array()) result.moments.push_back(moment(element.get_object()));
    }
  }
  return result;
}

static double processorTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

int main(int, char **arguments) {
  if (std::string(arguments[1]) != "decode") return 0;
  padded_string json = padded_string::load(arguments[2]);
  const int count = std::atoi(arguments[3]);
  ondemand::parser parser;
  size_t sum = timeline(parser, json).moments.size();
  const double start = processorTime();
  for (int index = 0; index < count; index++) sum += timeline(parser, json).moments.size();
  const double time = processorTime() - start;
  if (sum == 0) return 1;
  std::printf("%f\n", time / count);
}
