#include "base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

TEST(WithoutSecrets, OfACommandAreNamedByTheWordBefore) {
  EXPECT_THAT(without_secrets(Words{"--token=a", "--hf_TOKEN", "b", "WANDB_API_KEY=c", "plain"}),
              ElementsAre("--token=***", "--hf_TOKEN", "***", "WANDB_API_KEY=***", "plain"));
  EXPECT_THAT(without_secrets(Words{"--password", "--lr", "1", "keys.txt", "--max_tokens", "9"}),
              ElementsAre("--password", "--lr", "1", "keys.txt", "--max_tokens", "9"));
  EXPECT_THAT(without_secrets(Words{"--password=a b", "--db-pass", "c", "--passes", "3"}),
              ElementsAre("--password=***", "--db-pass", "***", "--passes", "3"));
  EXPECT_THAT(without_secrets(Words{"s3://me:pass@host/a", "http://host/a@b"}),
              ElementsAre("s3://***@host/a", "http://host/a@b"));
}

TEST(WithoutSecrets, OfALineForAShell) {
  EXPECT_EQ(without_secrets("python train.py --api-key 'a b' --lr 1"),
            "python train.py --api-key ***");
  EXPECT_EQ(without_secrets("HF_TOKEN=abc python train.py"), "HF_TOKEN=***");
  EXPECT_EQ(without_secrets(R"(curl -H "Authorization: Bearer abc" url)"),
            R"(curl -H "Authorization:***)");
  EXPECT_EQ(without_secrets("python train.py --lr 1 keys.txt --token"),
            "python train.py --lr 1 keys.txt --token");
}

TEST(WithoutSecrets, InsideOfAValue) {
  EXPECT_EQ(without_secrets("expandable_segments:True,api_key:abc,max_split_size_mb:128"),
            "expandable_segments:True,api_key:***");
  EXPECT_EQ(without_secrets("eth0,token=a,b"), "eth0,token=***");
  EXPECT_EQ(without_secrets(R"({"lr": 1, "api_key" : "abc"})"), R"({"lr": 1, "api_key" :***)");
  EXPECT_EQ(without_secrets("https://host/data?part=1&access_token=abc"),
            "https://host/data?part=1&access_token=***");
}

TEST(WithoutSecrets, OfAddresses) {
  EXPECT_EQ(without_secrets("tcp://user:pass@node0:29500"), "tcp://***@node0:29500");
  EXPECT_EQ(without_secrets("user:p@ss@node0"), "***@node0");
  EXPECT_EQ(without_secrets("a://b:c@d,e://f@g"), "a://***@d,e://***@g");
  EXPECT_EQ(without_secrets("--url=ftp://u:@h"), "--url=ftp://***@h");
  EXPECT_EQ(without_secrets("@"), "@");
}

TEST(WithoutSecrets, HarmlessValuesStay) {
  for (const char* value :
       {"", ":", "=", "://", "0,1", "garbage_collection_threshold:0.6,max_split_size_mb:64",
        "granularity=fine,compact", "mlx5_0:1,mlx5_1:1", "=eth0", "^docker,lo", "node0:29500",
        "/opt/keys/liba.so:/opt/libb.so", "https://host:8080/a", "git@host:repository",
        "--tokenizer=bpe --max_tokens 9", "[fe80::1]:29500"}) {
    EXPECT_EQ(without_secrets(value), value);
  }
}

}  // namespace
}  // namespace redline
