#include "engine/cache/compiled_file.h"

#include <sys/mman.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>

#include "compile/searches/record.h"
#include "engine/cache/program_version.h"
#include "kernels/processor.h"
#include "onnx/extract/moved_model.h"
#include "onnx/model_reader.h"
#include "onnx/wire/mapped_file.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

constexpr char kCompiledMagic[8] = {'P', 'L', 'I', 'M', 'P', 'L', 'M', '1'};
constexpr uint64_t kPage = 4096;
constexpr const char* kDataName = "data";  // what the model calls its constants' place

struct CompiledHeader {
  char magic[8] = {};
  uint64_t table_offset = 0;
  uint64_t table_size = 0;
  WeightHash table_checksum;
  uint64_t own_checksum = 0;  // of everything above
};

uint64_t OwnChecksum(const CompiledHeader& header) {
  return XXH3_64bits(&header, offsetof(CompiledHeader, own_checksum));
}

WeightHash ContentHash(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.high = hash.high64, .low = hash.low64};
}

void WriteHash(compile::RecordWriter& record, const WeightHash& hash) {
  record.Int(static_cast<int64_t>(hash.high));
  record.Int(static_cast<int64_t>(hash.low));
}

WeightHash ReadHash(compile::RecordReader& record) {
  WeightHash hash;
  hash.high = static_cast<uint64_t>(record.Int());
  hash.low = static_cast<uint64_t>(record.Int());
  return hash;
}

// Entries of both kinds are told by their hashes alone: a hash says the kind too.
WeightHash KeyOf(const CacheKey& key) {
  const std::string all = StrCat(key.kind, "\n", key.hash.Text());
  return ContentHash(std::as_bytes(std::span(all)));
}

}  // namespace

Error CompiledFile::Damaged(std::string why) const {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "compiled.damaged",
               .what = "cannot use the compiled model",
               .where = path_,
               .why = std::move(why),
               .remedy = "compile the model again: plimsoll compile MODEL.onnx -o FILE"};
}

bool CompiledFile::IsOne(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[sizeof kCompiledMagic] = {};
  return file.read(begin, sizeof begin) && std::memcmp(begin, kCompiledMagic, sizeof begin) == 0;
}

Result<std::shared_ptr<const CompiledFile>> CompiledFile::Open(const std::string& path) {
  PLIMSOLL_ASSIGN(const auto mapped, onnx::MappedFile::Open(path));
  const std::span<const std::byte> bytes = mapped->bytes();
  std::shared_ptr<CompiledFile> file(new CompiledFile(path, mapped, bytes));
  CompiledHeader header;
  if (bytes.size() < sizeof header) return file->Damaged("it is cut off");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kCompiledMagic, sizeof kCompiledMagic) != 0) {
    return Error{.kind = ErrorKind::kBadFile,
                 .code = "compiled.kind",
                 .what = "cannot use the compiled model",
                 .where = path,
                 .why = "it is no compiled model",
                 .remedy = "give a file that plimsoll compile wrote"};
  }
  if (header.own_checksum != OwnChecksum(header)) return file->Damaged("its header has changed");
  if (header.table_offset > bytes.size() ||
      header.table_size > bytes.size() - header.table_offset) {
    return file->Damaged("it is cut off");
  }
  const auto table = bytes.subspan(header.table_offset, header.table_size);
  if (ContentHash(table) != header.table_checksum) return file->Damaged("its table has changed");
  PLIMSOLL_TRY(file->ReadTable({reinterpret_cast<const char*>(table.data()), table.size()}));
  if (ContentHash(file->At(file->model_)) != file->model_.checksum) {
    return file->Damaged("its model has changed");
  }
  PLIMSOLL_TRY(file->CheckConstants());
  return std::shared_ptr<const CompiledFile>(std::move(file));
}

Status CompiledFile::ReadTable(std::string_view table) {
  constexpr size_t kLeastText = 8;
  constexpr size_t kRangeBytes = 32;
  compile::RecordReader record(table);
  const std::string sources = record.Text();
  const std::string processor = record.Text();
  const auto refuse = [&](std::string code, std::string why) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .code = std::move(code),
                 .what = "cannot use the compiled model",
                 .where = path_,
                 .why = std::move(why),
                 .remedy = "compile the model here: plimsoll compile MODEL.onnx -o FILE"};
  };
  if (sources != kSourceHash) {
    return refuse("compiled.build", "it was compiled by another build of plimsoll");
  }
  if (processor != kernels::ProcessorAndLibrary()) {
    return refuse("compiled.processor", StrCat("it was compiled for ", processor, ", and here is ",
                                               kernels::ProcessorAndLibrary()));
  }
  for (size_t left = record.Count(kLeastText); left > 0 && !record.failed(); --left) {
    shapes_.push_back(record.Text());
  }
  bool inside = true;
  const auto range = [&] {
    Range read;
    read.offset = static_cast<uint64_t>(record.Int());
    read.size = static_cast<uint64_t>(record.Int());
    read.checksum = ReadHash(record);
    inside &= read.offset <= bytes_.size() && read.size <= bytes_.size() - read.offset;
    return read;
  };
  model_ = range();
  data_ = range();
  for (size_t left = record.Count(kRangeBytes); left > 0 && !record.failed(); --left) {
    Range constant = range();
    constant.checked_later = record.Int() != 0;
    constants_.emplace(constant.offset, constant);
  }
  for (size_t left = record.Count(kRangeBytes); left > 0 && !record.failed(); --left) {
    const WeightHash key = ReadHash(record);
    entries_.emplace(key, range());
  }
  if (!record.AtEnd() || !inside) return Damaged("its table is not one of a compiled model");
  return {};
}

Result<graph::Graph> CompiledFile::ReadGraph() const {
  return onnx::ReadModelWithData(At(model_), At(data_), kDataName, storage_);
}

std::shared_ptr<const std::byte> CompiledFile::Map(const CacheKey& key, uint64_t* size) const {
  const auto entry = entries_.find(KeyOf(key));
  if (entry == entries_.end()) return nullptr;
  const std::span<const std::byte> bytes = At(entry->second);
  // One that has changed is made again, as in the disk cache.
  if (ContentHash(bytes) != entry->second.checksum) return nullptr;
  *size = bytes.size();
  return {storage_, bytes.data()};
}

std::optional<WeightHash> CompiledFile::HashAt(std::span<const std::byte> constant) const {
  const std::byte* const begin = bytes_.data();
  if (constant.data() < begin || constant.data() >= begin + bytes_.size()) return std::nullopt;
  const auto found = constants_.find(static_cast<uint64_t>(constant.data() - begin));
  if (found == constants_.end() || found->second.size != constant.size()) return std::nullopt;
  return found->second.checksum;
}

// Pages are given back on the way: a large constant is not held because it was checked.
Status CompiledFile::CheckConstants() const {
  for (const auto& [offset, constant] : constants_) {
    if (constant.checked_later) continue;
    const std::span<const std::byte> bytes = At(constant);
    if (ContentHash(bytes) != constant.checksum) return Damaged("a weight has changed");
    const uint64_t begin = (offset + kPage - 1) / kPage * kPage;
    const uint64_t end = (offset + constant.size) / kPage * kPage;
    if (begin < end) {
      madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
    }
  }
  return {};
}

Status CompiledFile::CheckConstant(std::span<const std::byte> constant) const {
  if (!HashAt(constant)) return {};
  const Range& known = constants_.at(static_cast<uint64_t>(constant.data() - bytes_.data()));
  if (!known.checked_later || HashOf(constant) == known.checksum) return {};
  return Damaged("a weight has changed");
}

Result<std::shared_ptr<CompiledFileWriter>> CompiledFileWriter::Begin(const std::string& path) {
  PLIMSOLL_ASSIGN(FileReplacement file, FileReplacement::Begin(path));
  std::shared_ptr<CompiledFileWriter> writer(new CompiledFileWriter(std::move(file)));
  writer->end_ = kPage;
  return writer;
}

Result<CompiledFileWriter::Range> CompiledFileWriter::Append(
    std::span<const std::span<const std::byte>> parts, bool checksum) {
  Range range{.offset = (end_ + kPage - 1) / kPage * kPage, .size = 0, .checksum = {}};
  for (const auto part : parts) {
    PLIMSOLL_TRY(file_.WriteAt(range.offset + range.size, part));
    range.size += part.size();
  }
  if (checksum) range.checksum = ContentHash(parts.front());
  end_ = range.offset + range.size;
  return range;
}

void CompiledFileWriter::Keep(const CacheKey& key, std::span<const std::byte> bytes,
                              const WeightHash* of) {
  const WeightHash name = KeyOf(key);
  if (!failed_.ok() || entries_.contains(name)) return;
  const Result<Range> range = Append(std::span(&bytes, 1), true);
  if (range.ok()) {
    entries_.emplace(name, *range);
    if (of != nullptr) packed_.insert(*of);
  } else {
    failed_ = range.error();
  }
}

Status CompiledFileWriter::Finish(const std::string& model,
                                  const std::vector<std::string>& shapes) {
  PLIMSOLL_TRY(failed_);
  PLIMSOLL_ASSIGN(const onnx::MovedModel moved, onnx::MoveData(model, kDataName));
  PLIMSOLL_ASSIGN(const Range data, Append(moved.data, false));
  const std::span<const std::byte> proto = std::as_bytes(std::span(moved.model));
  PLIMSOLL_ASSIGN(const Range graph, Append(std::span(&proto, 1), true));
  compile::RecordWriter record;
  const auto write = [&](const Range& range) {
    record.Int(static_cast<int64_t>(range.offset));
    record.Int(static_cast<int64_t>(range.size));
    WriteHash(record, range.checksum);
  };
  record.Text(kSourceHash);
  record.Text(kernels::ProcessorAndLibrary());
  record.Int(std::ssize(shapes));
  for (const std::string& shape : shapes) record.Text(shape);
  write(graph);
  write(data);
  record.Int(std::ssize(moved.constants));
  for (const auto& constant : moved.constants) {
    const WeightHash hash = HashOf(constant.bytes);
    write({.offset = data.offset + static_cast<uint64_t>(constant.offset),
           .size = constant.bytes.size(),
           .checksum = hash});
    record.Int(packed_.contains(hash) ? 1 : 0);
  }
  record.Int(std::ssize(entries_));
  for (const auto& [key, range] : entries_) {
    WriteHash(record, key);
    write(range);
  }
  const std::span<const std::byte> table = std::as_bytes(std::span(record.bytes()));
  PLIMSOLL_ASSIGN(const Range at, Append(std::span(&table, 1), true));
  CompiledHeader header;
  std::memcpy(header.magic, kCompiledMagic, sizeof kCompiledMagic);
  header.table_offset = at.offset;
  header.table_size = at.size;
  header.table_checksum = at.checksum;
  header.own_checksum = OwnChecksum(header);
  PLIMSOLL_TRY(file_.WriteAt(0, std::as_bytes(std::span(&header, 1))));
  return file_.Commit();
}

}  // namespace plimsoll::engine
