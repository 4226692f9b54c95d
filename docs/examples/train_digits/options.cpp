// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <sparsecoll/sparsecoll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

#include "world.h"

namespace train {
namespace {

const std::map<std::string, Mode> kModes = {
    {"dense", Mode::dense},     {"topk", Mode::topk},       {"oktopk", Mode::oktopk},
    {"gtopk", Mode::gtopk},     {"topka2a", Mode::topka2a}, {"oktopk-reuse", Mode::oktopk_reuse},
    {"sharded", Mode::sharded}, {"groups", Mode::groups},   {"dgc", Mode::dgc},
    {"sgp", Mode::sgp},         {"osgp", Mode::osgp},       {"gossip", Mode::gossip}};
constexpr std::size_t kWarmUp = 4;  // epochs of Deep Gradient Compression
const std::map<std::string, Transport> kTransports = {{"mpi", Transport::mpi},
                                                      {"local", Transport::local}};
const std::map<std::string, Memory> kMemories = {{"host", Memory::host},
                                                 {"device", Memory::device}};
const std::map<std::string, int> kWires = {
    {"native", sparsecollWireNative}, {"bf16", sparsecollWireBf16}, {"int8", sparsecollWireInt8}};

template <class Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

template <class Value>
std::string name_in(const std::map<std::string, Value>& values, Value wanted) {
  const auto has = [wanted](const auto& entry) { return entry.second == wanted; };
  return std::find_if(values.begin(), values.end(), has)->first;
}

/// Returns whether a step is one call that all ranks have made or none.
bool can_go_on(Mode mode, Transport transport) {
  const Mode others[] = {Mode::groups, Mode::dgc, Mode::sgp, Mode::osgp, Mode::gossip};
  return transport == Transport::mpi &&
         std::find(std::begin(others), std::end(others), mode) == std::end(others);
}

/// Adds the options that every mode has.
void add_training(CLI::App& app, Options& options) {
  app.add_option("--hidden", options.hidden, "widths of the hidden layers, W,W,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "passes over the training images")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds,
                 "end training at the first evaluation after this training time in seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "seed of the initial weights and of the order of images")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "images per rank and step")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--density", options.density, "share of the entries kept, k / n")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--lr", options.learning_rate, "learning rate")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--momentum", options.momentum,
                 "applied after the reduction; dgc and the gossip modes: before it")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  options.data_directory = TRAIN_DIGITS_DATA;
  std::string mode = name_of(options.mode);
  std::string transport = name_of(mpi_is_available() ? Transport::mpi : Transport::local);
  std::string memory = name_of(options.memory);
  std::string wire = "native";

  CLI::App app{
      "Trains a multilayer perceptron on handwritten digits, data-parallel over ranks, with dense "
      "or sparse gradient reduction."};
  app.add_option("--mode", mode, "how gradients are reduced or models are averaged")
      ->check(CLI::IsMember(names_of(kModes)))
      ->capture_default_str();
  app.add_option("--transport", transport, "mpi: ranks are processes of mpirun; local: threads")
      ->check(CLI::IsMember(names_of(kTransports)))
      ->capture_default_str();
  app.add_option("--memory", memory, "memory of models and gradients, and place of the arithmetic")
      ->check(CLI::IsMember(names_of(kMemories)))
      ->capture_default_str();
  app.add_option("--ranks", options.ranks, "threads of --transport local")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_training(app, options);
  const auto* warm_up =
      app.add_option("--warm-up", options.warm_up,
                     "first epochs with densities of 1/4, 1/16, 1/64, ... but none below --density "
                     "[4 with dgc, else 0]")
          ->check(CLI::Range(0, 100000));
  app.add_option("--fusion", options.fusion_bytes,
                 "groups: most bytes of gradients in one group (K, M, G) [all of them]")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--dense-below", options.dense_below,
                 "groups: send tensors of fewer parameters whole")
      ->capture_default_str();
  app.add_option("--wire", wire, "type of the values in messages of gradients")
      ->check(CLI::IsMember(names_of(kWires)))
      ->capture_default_str();
  app.add_option("--max-delay", options.max_delay, "osgp: steps by which a message may be late")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--mixing", options.mixing,
                 "gossip: gamma, the fraction of the known difference to add")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  auto* const go_on =
      app.add_flag("--go-on", options.go_on,
                   "mpi, modes of one allreduce: when ranks are gone, the others go on");
  app.add_option("--kill", options.killed, "this rank kills itself in the middle of epoch 2")
      ->needs(go_on)
      ->check(CLI::Range(0, 1023));
  app.add_flag(
      "--validate", options.validate,
      "train on the first three quarters of the training images and evaluate on the others, for "
      "the choice of hyperparameters");
  app.add_flag("--check", options.check,
               "after each epoch, fail unless all ranks hold the same bits");
  app.add_option("--every", options.every,
                 "evaluate also within an epoch, each time after this number of steps")
      ->check(CLI::Range(1, 1000000000));
  app.add_option("-J,--json", options.json_file,
                 "append one JSON object for each line of the table to this file");
  app.add_option("--network", options.network, "name of the network for the JSON, such as 1gbit");
  app.add_option("--data-dir", options.data_directory, "folder of optdigits.tra and optdigits.tes")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--dump-gradient", options.gradient_prefix,
                 "write rank r's dense gradient of the last step to PREFIX.r.f32");
  // Refuse options that the mode would ignore.
  const auto belongs_to = [&](const std::string& option, Mode owner) {
    if (app.count(option) > 0 && kModes.at(mode) != owner)
      throw CLI::ValidationError(option, "only with --mode " + name_of(owner));
  };
  try {
    app.parse(argc, argv);
    belongs_to("--fusion", Mode::groups);
    belongs_to("--dense-below", Mode::groups);
    belongs_to("--max-delay", Mode::osgp);
    belongs_to("--mixing", Mode::gossip);
    if (go_on->count() > 0 && !can_go_on(kModes.at(mode), kTransports.at(transport)))
      throw CLI::ValidationError("--go-on", "only over mpi, with one allreduce for each step");
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  options.mode = kModes.at(mode);
  options.wire = kWires.at(wire);
  options.transport = kTransports.at(transport);
  options.memory = kMemories.at(memory);
  if (warm_up->count() == 0 && options.mode == Mode::dgc) options.warm_up = kWarmUp;
  return options;
}

std::string name_of(Mode mode) { return name_in(kModes, mode); }
std::string name_of(Transport transport) { return name_in(kTransports, transport); }
std::string name_of(Memory memory) { return name_in(kMemories, memory); }

}  // namespace train
