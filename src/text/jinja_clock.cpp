#include "text/jinja_clock.h"

#include <fmt/core.h>

#include <chrono>
#include <ctime>
#include <optional>

namespace linnet::jinja {
namespace {

constexpr const char* kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                 "Thursday", "Friday", "Saturday"};
constexpr const char* kMonths[] = {"January",   "February", "March",    "April",
                                   "May",       "June",     "July",     "August",
                                   "September", "October",  "November", "December"};

struct Calendar {
  int weekday;   // 0 is Sunday
  int year_day;  // 1 to 366
};

Calendar calendar(const CivilTime& t) {
  using std::chrono::day, std::chrono::month, std::chrono::year;
  const std::chrono::sys_days date =
      year(t.year) / month(static_cast<unsigned>(t.month)) / day(static_cast<unsigned>(t.day));
  const std::chrono::sys_days first = year(t.year) / month(1) / day(1);
  const std::chrono::weekday weekday(date);
  return {static_cast<int>(weekday.c_encoding()), static_cast<int>((date - first).count()) + 1};
}

// ISO 8601: week 1 is the one with the year's first Thursday.
struct IsoWeek {
  int year;
  int week;
};

IsoWeek iso_week(const CivilTime& t, const Calendar& c) {
  const auto weeks_in = [](int year) {
    const auto p = [](int y) { return (y + y / 4 - y / 100 + y / 400) % 7; };
    return p(year) == 4 || p(year - 1) == 3 ? 53 : 52;
  };
  const int weekday = c.weekday == 0 ? 7 : c.weekday;
  const int week = (c.year_day - weekday + 10) / 7;
  if (week < 1) return {t.year - 1, weeks_in(t.year - 1)};
  if (week > weeks_in(t.year)) return {t.year + 1, 1};
  return {t.year, week};
}

// Codes for the time of day, and for layout; nullopt for others.
std::optional<std::string> time_code(const CivilTime& t, char code) {
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  switch (code) {
    case 'f':
      return "000000";
    case 'H':
      return fmt::format("{:02}", t.hour);
    case 'I':
      return fmt::format("{:02}", hour12);
    case 'k':
      return fmt::format("{:2}", t.hour);
    case 'l':
      return fmt::format("{:2}", hour12);
    case 'M':
      return fmt::format("{:02}", t.minute);
    case 'n':
      return "\n";
    case 'p':
      return t.hour < 12 ? "AM" : "PM";
    case 'P':
      return t.hour < 12 ? "am" : "pm";
    case 'r':
      return format_time(t, "%I:%M:%S %p");
    case 'R':
      return format_time(t, "%H:%M");
    case 'S':
      return fmt::format("{:02}", t.second);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return format_time(t, "%H:%M:%S");
    case 'z':
    case 'Z':
      return "";  // a time without a zone
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

// Codes for days and weeks.
std::optional<std::string> day_code(const CivilTime& t, const Calendar& c, char code) {
  const std::string weekday = kDays[c.weekday];
  switch (code) {
    case 'a':
      return weekday.substr(0, 3);
    case 'A':
      return weekday;
    case 'd':
      return fmt::format("{:02}", t.day);
    case 'e':
      return fmt::format("{:2}", t.day);
    case 'g':
      return fmt::format("{:02}", iso_week(t, c).year % 100);
    case 'G':
      return fmt::format("{}", iso_week(t, c).year);
    case 'j':
      return fmt::format("{:03}", c.year_day);
    case 'u':
      return fmt::format("{}", c.weekday == 0 ? 7 : c.weekday);
    case 'U':
      return fmt::format("{:02}", (c.year_day + 6 - c.weekday) / 7);
    case 'V':
      return fmt::format("{:02}", iso_week(t, c).week);
    case 'w':
      return fmt::format("{}", c.weekday);
    case 'W':
      return fmt::format("{:02}", (c.year_day + 6 - (c.weekday + 6) % 7) / 7);
    default:
      return std::nullopt;
  }
}

// Codes for months, years and whole dates; an unknown code stays as it is.
std::string date_code(const CivilTime& t, char code) {
  const std::string month = kMonths[t.month - 1];
  switch (code) {
    case 'b':
    case 'h':
      return month.substr(0, 3);
    case 'B':
      return month;
    case 'c':
      return format_time(t, "%a %b %e %H:%M:%S %Y");
    case 'C':
      return fmt::format("{:02}", t.year / 100);
    case 'D':
    case 'x':
      return format_time(t, "%m/%d/%y");
    case 'F':
      return format_time(t, "%Y-%m-%d");
    case 'm':
      return fmt::format("{:02}", t.month);
    case 'y':
      return fmt::format("{:02}", t.year % 100);
    case 'Y':
      return fmt::format("{}", t.year);
    default:
      return std::string("%") + code;
  }
}

std::string one_code(const CivilTime& t, const Calendar& c, char code) {
  if (const auto text = time_code(t, code)) return *text;
  if (const auto text = day_code(t, c, code)) return *text;
  return date_code(t, code);
}

}  // namespace

CivilTime local_time() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  localtime_r(&now, &parts);
  return {parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
          parts.tm_hour,        parts.tm_min,     parts.tm_sec};
}

std::string format_time(const CivilTime& time, std::string_view format) {
  const Calendar c = calendar(time);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    ++i;
    // A glibc flag: no padding.
    const bool unpadded = format[i] == '-' && i + 1 < format.size();
    if (unpadded) ++i;
    std::string text = one_code(time, c, format[i]);
    if (unpadded) {
      while (text.size() > 1 && (text[0] == '0' || text[0] == ' ')) text.erase(0, 1);
    }
    out += text;
  }
  return out;
}

}  // namespace linnet::jinja
