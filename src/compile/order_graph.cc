#include "compile/order_graph.h"

#include <algorithm>
#include <cassert>

namespace plimsoll::compile {
namespace {

void SortAndUnite(std::vector<int32_t>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

// Storages that never hold a byte do not matter: -1. The others are numbered anew.
std::vector<int32_t> NumberStorages(const Schedule& schedule) {
  std::vector<int32_t> numbers(static_cast<size_t>(schedule.storages), -1);
  int32_t next = 0;
  for (const ScheduleValue& value : schedule.values) {
    if (value.bytes > 0 && numbers[value.storage] < 0) numbers[value.storage] = next++;
  }
  return numbers;
}

}  // namespace

OrderGraph::OrderGraph(const Schedule& schedule) {
  const std::vector<int32_t> compact = NumberStorages(schedule);
  storages_.resize(static_cast<size_t>(
      std::ranges::count_if(compact, [](int32_t number) { return number >= 0; })));
  std::vector<int32_t> writers(schedule.values.size(), -1);
  for (size_t node = 0; node < schedule.nodes.size(); ++node) {
    for (const int32_t value : schedule.nodes[node].writes) {
      writers[value] = static_cast<int32_t>(node);
    }
  }
  std::vector<int32_t> before;
  for (const ScheduleNode& node : schedule.nodes) {
    before = node.after;
    for (const int32_t value : node.reads) {
      if (writers[value] >= 0) before.push_back(writers[value]);
    }
    SortAndUnite(before);
    for (const int32_t predecessor : before) predecessors_.Add(predecessor);
    predecessors_.EndRow();
    workspaces_.push_back(node.workspace);
    AddTouches(schedule, node, compact);
  }
  IndexUsers();
  IndexSuccessors();
}

void OrderGraph::AddTouches(const Schedule& schedule, const ScheduleNode& node,
                            std::span<const int32_t> compact) {
  const auto storage_of = [&](int32_t value) { return compact[schedule.values[value].storage]; };
  std::vector<int32_t> touched;
  std::vector<int32_t> written;
  for (const int32_t value : node.reads) touched.push_back(storage_of(value));
  for (const int32_t value : node.writes) written.push_back(storage_of(value));
  touched.insert(touched.end(), written.begin(), written.end());
  SortAndUnite(touched);
  written_.push_back(0);
  for (const int32_t storage : touched) {
    if (storage < 0) continue;
    Touch touch{.storage = storage};
    for (const int32_t value : node.writes) {
      if (storage_of(value) == storage) touch.written += schedule.values[value].bytes;
    }
    written_.back() += touch.written;
    storages_[storage].total += touch.written;
    touches_.Add(touch);
  }
  touches_.EndRow();
  for (const int32_t output : node.writes) {
    for (const InPlaceChance& chance : node.in_place) {
      const ScheduleValue& input = schedule.values[chance.input];
      const int32_t storage = compact[input.storage];
      if (chance.output != output || schedule.values[output].bytes == 0 || storage < 0 ||
          schedule.pinned[input.storage] || std::ranges::find(written, storage) != written.end()) {
        continue;
      }
      takeovers_.Add({output, storage, schedule.values[output].bytes});
    }
  }
  takeovers_.EndRow();
}

OrderGraph OrderGraph::Window(const OrderGraph& whole, std::span<const int32_t> order,
                              int32_t begin, int32_t end) {
  assert(0 <= begin && begin <= end && end <= whole.size());
  OrderGraph window;
  std::vector<int32_t> nodes(static_cast<size_t>(whole.size()), -1);
  std::vector<int32_t> storages(static_cast<size_t>(whole.storages()), -1);
  std::vector<int32_t> place(static_cast<size_t>(whole.size()));
  for (int32_t i = 0; i < whole.size(); ++i) place[order[i]] = i;
  for (int32_t i = begin; i < end; ++i) nodes[order[i]] = i - begin;

  for (int32_t storage = 0; storage < whole.storages(); ++storage) {
    Storage seen;
    bool inside = false;
    bool over = true;
    for (const int32_t user : whole.users(storage)) {
      inside = inside || nodes[user] >= 0;
      seen.kept = seen.kept || place[user] >= end;
      over = over && place[user] < begin;
      if (place[user] >= begin) continue;
      for (const Touch& touch : whole.touches(user)) {
        if (touch.storage == storage) seen.held_before += touch.written;
      }
    }
    seen.total = seen.held_before;
    if (!over) window.live_before_ += seen.held_before;
    if (!inside) continue;
    storages[storage] = window.storages();
    window.storages_.push_back(seen);
  }
  for (int32_t i = begin; i < end; ++i) {
    const int32_t node = order[i];
    for (const int32_t predecessor : whole.predecessors(node)) {
      if (nodes[predecessor] >= 0) window.predecessors_.Add(nodes[predecessor]);
    }
    window.predecessors_.EndRow();
    for (Touch touch : whole.touches(node)) {
      touch.storage = storages[touch.storage];
      window.storages_[touch.storage].total += touch.written;
      window.touches_.Add(touch);
    }
    window.touches_.EndRow();
    for (Takeover takeover : whole.takeovers(node)) {
      takeover.storage = storages[takeover.storage];
      window.takeovers_.Add(takeover);
    }
    window.takeovers_.EndRow();
    window.workspaces_.push_back(whole.workspace(node));
    window.written_.push_back(whole.written(node));
  }
  window.IndexUsers();
  window.IndexSuccessors();
  return window;
}

void OrderGraph::IndexUsers() {
  std::vector<std::vector<int32_t>> users(storages_.size());
  for (int32_t node = 0; node < size(); ++node) {
    for (const Touch& touch : touches(node)) users[touch.storage].push_back(node);
  }
  for (const std::vector<int32_t>& row : users) {
    for (const int32_t node : row) users_.Add(node);
    users_.EndRow();
  }
}

void OrderGraph::IndexSuccessors() {
  std::vector<std::vector<int32_t>> successors(static_cast<size_t>(size()));
  for (int32_t node = 0; node < size(); ++node) {
    for (const int32_t predecessor : predecessors(node)) successors[predecessor].push_back(node);
  }
  for (const std::vector<int32_t>& row : successors) {
    for (const int32_t node : row) successors_.Add(node);
    successors_.EndRow();
  }
}

}  // namespace plimsoll::compile
