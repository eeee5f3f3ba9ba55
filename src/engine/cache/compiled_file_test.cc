#include "engine/cache/compiled_file.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <random>

#include "engine/cache/program_version.h"
#include "engine/weights/weight_files_for_tests.h"
#include "kernels/processor.h"
#include "onnx/model_reader.h"

namespace plimsoll::engine {
namespace compiled_file_test {

namespace fs = std::filesystem;

class CompiledFileTest : public testing::Test {
 protected:
  // An example with one entry.
  void SetUp() override {
    const auto writer = CompiledFileWriter::Begin(file());
    ASSERT_TRUE(writer.ok()) << writer.error().Text();
    const std::string text(100'000, 'x');
    const WeightHash hash = *LargestConstant();
    (*writer)->Keep(Key(), std::as_bytes(std::span(text)), &hash);
    const Status finished =
        (*writer)->Finish(PLIMSOLL_SOURCE_DIR "/examples/tiny_cnn.onnx", {"batch=1"});
    ASSERT_TRUE(finished.ok()) << finished.error().Text();
  }
  // Of the example: kernels have it in another form.
  static std::optional<WeightHash> LargestConstant() {
    const auto graph = onnx::ReadModel(PLIMSOLL_SOURCE_DIR "/examples/tiny_cnn.onnx");
    const auto largest = std::max_element(
        graph->constants.begin(), graph->constants.end(),
        [](const auto& a, const auto& b) { return a.bytes.size() < b.bytes.size(); });
    return HashOf(largest->bytes);
  }
  static CacheKey Key() { return CacheKeyFor("packed", "some weight"); }
  std::string file() const { return (folder_.path() / "model.plm").string(); }

  const TemporaryFolder folder_;
};

TEST_F(CompiledFileTest, HoldsTheModelItsShapesAndItsEntries) {
  EXPECT_TRUE(CompiledFile::IsOne(file()));
  const auto opened = CompiledFile::Open(file());
  ASSERT_TRUE(opened.ok()) << opened.error().Text();
  EXPECT_EQ((*opened)->shapes(), std::vector<std::string>{"batch=1"});
  EXPECT_TRUE((*opened)->ReadGraph().ok());
  uint64_t size = 0;
  ASSERT_NE((*opened)->Map(Key(), &size), nullptr);
  EXPECT_EQ(size, 100'000U);
  EXPECT_EQ((*opened)->Map(CacheKeyFor("packed", "another"), &size), nullptr);
}

TEST_F(CompiledFileTest, DamageIsNoticedWhereverItIs) {
  const std::string whole = ContentOf(file());
  std::mt19937 draw(5);
  for (int i = 0; i < 400; ++i) {
    std::string damaged = whole;
    if (i % 4 == 0) {
      damaged.resize(draw() % damaged.size());
    } else {
      char& byte = damaged[draw() % damaged.size()];
      byte = static_cast<char>(byte ^ (1 << draw() % 8));
    }
    folder_.Write("damaged.plm", damaged);
    const std::string path = (folder_.path() / "damaged.plm").string();
    const auto opened = CompiledFile::Open(path);
    if (!opened.ok()) {
      EXPECT_EQ(opened.error().kind, ErrorKind::kBadFile) << opened.error().Text();
      continue;
    }
    // What opens gives what was written, or nothing.
    uint64_t size = 0;
    const auto entry = (*opened)->Map(Key(), &size);
    if (entry != nullptr) {
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(entry.get()), size),
                std::string(100'000, 'x'));
    }
    EXPECT_TRUE((*opened)->ReadGraph().ok()) << "its bytes are checked";
  }
}

TEST_F(CompiledFileTest, AWeightThatHasChangedIsRefusedWhenItIsRead) {
  const auto opened = CompiledFile::Open(file());
  ASSERT_TRUE(opened.ok());
  const auto graph = (*opened)->ReadGraph();
  ASSERT_TRUE(graph.ok());
  size_t constants = 0;
  for (const graph::ConstantTensor& constant : graph->constants) {
    EXPECT_TRUE((*opened)->CheckConstant(constant.bytes).ok());
    if (!(*opened)->HashAt(constant.bytes)) continue;  // a small one, part of the model
    ++constants;
    std::string damaged = ContentOf(file());
    const std::string bytes(reinterpret_cast<const char*>(constant.bytes.data()),
                            constant.bytes.size());
    damaged[damaged.find(bytes) + bytes.size() / 2] ^= 1;
    folder_.Write("damaged.plm", damaged);
    const auto changed = CompiledFile::Open((folder_.path() / "damaged.plm").string());
    if (HashOf(constant.bytes) != *LargestConstant()) {
      EXPECT_EQ(changed.error().code, "compiled.damaged");
      continue;
    }
    ASSERT_TRUE(changed.ok()) << "it is checked when it is read";
    const auto read = (*changed)->ReadGraph();
    ASSERT_TRUE(read.ok());
    const auto same = std::find_if(read->constants.begin(), read->constants.end(),
                                   [&](const auto& one) { return one.name == constant.name; });
    EXPECT_EQ((*changed)->CheckConstant(same->bytes).error().code, "compiled.damaged");
  }
  EXPECT_GT(constants, 0U);
}

// The file with another text in its table, and checksums to match.
std::string WithTable(std::string file, const std::string& from, const std::string& to) {
  struct Header {
    char magic[8];
    uint64_t table_offset;
    uint64_t table_size;
    XXH128_hash_t table_checksum;
    uint64_t own_checksum;
  } header;
  std::memcpy(&header, file.data(), sizeof header);
  const size_t at = file.find(from, header.table_offset);
  EXPECT_NE(at, std::string::npos);
  file.replace(at, from.size(), to);
  const XXH128_hash_t sum = XXH3_128bits(file.data() + header.table_offset, header.table_size);
  header.table_checksum = {sum.high64, sum.low64};  // as WeightHash has them
  header.own_checksum = XXH3_64bits(&header, offsetof(Header, own_checksum));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

TEST_F(CompiledFileTest, AnotherBuildOrProcessorIsTold) {
  const std::string path = (folder_.path() / "other.plm").string();
  const std::string processor = kernels::ProcessorAndLibrary();
  for (const auto& [text, code] : {std::pair(std::string(kSourceHash), "compiled.build"),
                                   std::pair(processor, "compiled.processor")}) {
    std::string other = text;
    other.back() = other.back() == '0' ? '1' : '0';
    folder_.Write("other.plm", WithTable(ContentOf(file()), text, other));
    const auto opened = CompiledFile::Open(path);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, code) << opened.error().Text();
    EXPECT_EQ(opened.error().kind, ErrorKind::kUnsupported);
  }
}

TEST_F(CompiledFileTest, WithoutFinishNothingIsThere) {
  const std::string other = (folder_.path() / "other.plm").string();
  { EXPECT_TRUE(CompiledFileWriter::Begin(other).ok()); }
  EXPECT_FALSE(fs::exists(other));
  EXPECT_FALSE(fs::exists(other + ".partial"));
  EXPECT_EQ(CompiledFile::Open("/nowhere.plm").error().code, "file.missing");
  folder_.Write("text.plm", std::string(5000, 'x'));
  EXPECT_EQ(CompiledFile::Open((folder_.path() / "text.plm").string()).error().code,
            "compiled.kind");
}

}  // namespace compiled_file_test
}  // namespace plimsoll::engine
