#include "kmirror/cli/mirrors_options.h"

#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>
#include <boost/system/errc.hpp>

namespace kmirror::cli {
namespace {

namespace po = boost::program_options;

struct ActionRule {
  MirrorsAction action;
  bool needs_mirror;
  bool needs_topics;
};

const std::map<std::string, ActionRule>& actions() {
  static const std::map<std::string, ActionRule> table{
      {"create", {MirrorsAction::kCreate, true, false}},
      {"start", {MirrorsAction::kStart, true, true}},
      {"stop", {MirrorsAction::kStop, true, true}},
      {"pause", {MirrorsAction::kPause, true, true}},
      {"resume", {MirrorsAction::kResume, true, true}},
      {"recover", {MirrorsAction::kRecover, true, true}},
      {"delete", {MirrorsAction::kDelete, true, false}},
      {"list", {MirrorsAction::kList, false, false}},
      {"describe", {MirrorsAction::kDescribe, false, false}},
  };
  return table;
}

po::options_description description() {
  po::options_description all("Options");
  auto add = all.add_options();
  add("bootstrap-server", po::value<std::string>(), "HOST:PORT[,…] of the destination (required)");
  add("command-config", po::value<std::string>(), "properties file for this tool's connection");
  add("create", "create a mirror (--mirror, --mirror-config)");
  add("start", "start mirroring topics (--mirror, --topics)");
  add("stop", "stop topics and make them writable: failover (--mirror, --topics)");
  add("pause", "pause topics; they stay read-only (--mirror, --topics)");
  add("resume", "go on with paused topics (--mirror, --topics)");
  add("recover", "try failed partitions again (--mirror, --topics)");
  add("delete", "delete a mirror whose topics are all stopped (--mirror)");
  add("list", "list all mirrors");
  add("describe", "states, offsets and lag of partitions [--mirror]");
  add("mirror", po::value<std::string>(), "name of the mirror");
  add("mirror-config", po::value<std::string>(), "properties file with bootstrap.servers, …");
  add("topics", po::value<std::string>(), "comma-separated topic names or regular expressions");
  add("exclude", po::value<std::string>(), "with --start: names or expressions to leave out");
  add("all-topics", "the same as --topics '.*'");
  add("json", "with --describe: print JSON");
  add("failed", "with --describe: only failed partitions, with their errors");
  add("help", "print this text");
  return all;
}

Result<void> check(const MirrorsOptions& options, const std::string& name, const ActionRule& rule) {
  if (options.bootstrap_server.empty()) {
    return usage_error("--bootstrap-server is missing: give HOST:PORT of the destination");
  }
  if (rule.needs_mirror && options.mirror.empty()) {
    return usage_error(fmt::format("--{} needs --mirror NAME", name));
  }
  if (rule.needs_topics && options.topics.empty()) {
    return usage_error(fmt::format("--{} needs --topics NAME[,…] or --all-topics", name));
  }
  if (rule.action == MirrorsAction::kCreate && options.mirror_config.empty()) {
    return usage_error("--create needs --mirror-config FILE with at least bootstrap.servers");
  }
  if ((options.json || options.failed) && rule.action != MirrorsAction::kDescribe) {
    return usage_error("--json and --failed go with --describe only");
  }
  if (!options.exclude.empty() && rule.action != MirrorsAction::kStart) {
    return usage_error("--exclude goes with --start only");
  }
  return {};
}

Result<po::variables_map> parse(const std::vector<std::string>& arguments) {
  po::variables_map values;
  try {
    const po::options_description all = description();
    const int style = po::command_line_style::allow_long | po::command_line_style::long_allow_next |
                      po::command_line_style::long_allow_adjacent;
    po::store(po::command_line_parser(arguments).options(all).style(style).run(), values);
  } catch (const po::error& error) {
    return usage_error(error.what());
  }
  return values;
}

}  // namespace

Error usage_error(std::string text) {
  return {make_error_code(boost::system::errc::invalid_argument), std::move(text)};
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, end);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (!item.empty()) out.emplace_back(item);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<MirrorsOptions> parse_mirrors_options(const std::vector<std::string>& arguments) {
  KM_TRY(values, parse(arguments));
  MirrorsOptions options;
  if (values.contains("help")) return options;
  std::string chosen;
  for (const auto& [name, rule] : actions()) {
    if (!values.contains(name)) continue;
    if (!chosen.empty()) {
      return usage_error(fmt::format("exactly one action: --{} and --{} given", chosen, name));
    }
    chosen = name;
    options.action = rule.action;
  }
  if (chosen.empty())
    return usage_error(
        "no action: give one of --create --start --stop --pause "
        "--resume --recover --delete --list --describe");
  const auto text = [&values](const char* key) {
    return values.contains(key) ? values[key].as<std::string>() : std::string();
  };
  options.bootstrap_server = text("bootstrap-server");
  if (values.contains("command-config")) options.command_config = text("command-config");
  options.mirror = text("mirror");
  options.mirror_config = text("mirror-config");
  options.topics = split_list(text("topics"));
  options.exclude = split_list(text("exclude"));
  options.all_topics = values.contains("all-topics");
  if (options.all_topics) options.topics = {".*"};
  options.json = values.contains("json");
  options.failed = values.contains("failed");
  KM_TRY_VOID(check(options, chosen, actions().at(chosen)));
  return options;
}

std::string mirrors_help() {
  std::ostringstream out;
  out << "Manages cluster mirrors of a kmirror cluster. Exactly one action.\n" << description();
  return out.str();
}

}  // namespace kmirror::cli
