#include "cli/conversation.h"

#include <doctest/doctest.h>

#include "base/error.h"

using linnet::Conversation;
using linnet::Json;

TEST_CASE("undo takes the last question with its answer, drop_answer only the answer") {
  Conversation chat;
  CHECK_FALSE(chat.undo());
  CHECK_FALSE(chat.drop_answer());
  chat.add_user("one");
  chat.add_assistant("1", "");
  chat.add_user("two");
  chat.add_assistant("2", "hm");
  REQUIRE(chat.drop_answer());
  CHECK(chat.turns().size() == 3);
  CHECK(chat.turns().back().content == "two");
  REQUIRE(chat.undo());
  CHECK(chat.turns().size() == 2);
  CHECK(chat.turns().back().content == "1");
}

TEST_CASE("clear keeps the system text") {
  Conversation chat;
  chat.set_system("Be brief.");
  chat.add_user("hi");
  chat.clear();
  CHECK(chat.turns().empty());
  CHECK(chat.system() == "Be brief.");
}

TEST_CASE("a saved conversation comes back whole") {
  Conversation chat;
  chat.set_system("Sei kurz. \"\n");
  chat.add_user("naïve \xF0\x9F\x99\x82\n");
  chat.add_assistant("yes", "let me see");
  const Conversation again = Conversation::from_json(Json::parse(chat.to_json().dump(), "test"));
  CHECK(again.system() == chat.system());
  CHECK(again.turns() == chat.turns());
}

TEST_CASE("tool calls are saved in OpenAI's shape and come back") {
  Conversation chat;
  chat.add_user("Weather?");
  chat.add_assistant("", "", {{"get_weather", R"({"city": "Oslo"})"}, {"f", "{}"}});
  const Json saved = chat.to_json();
  const Json& call = saved.at("messages").as_array()[1].at("tool_calls").as_array()[0];
  CHECK(call.at("function").at("name").as_string() == "get_weather");
  CHECK(call.at("function").at("arguments").as_string() == R"({"city": "Oslo"})");
  CHECK(Conversation::from_json(saved).turns() == chat.turns());
  // Arguments may also be an object.
  const Conversation given = Conversation::from_json(Json::parse(
      R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}])",
      "test"));
  REQUIRE(given.turns().size() == 1);
  CHECK(given.turns()[0].tool_calls == std::vector<linnet::ToolCall>{{"f", R"({"a":1})"}});
}

TEST_CASE("a call that no template can take becomes text") {
  Conversation chat;
  chat.add_assistant("Look:", "", {{"f", R"({"a": 1, "a": 2})"}, {"g", "{}"}});
  CHECK(chat.turns()[0].content == "Look:\nf({\"a\": 1, \"a\": 2})");
  CHECK(chat.turns()[0].tool_calls.size() == 1);
}

TEST_CASE("the oldest turn goes with all that belongs to it, the last one stays") {
  Conversation chat;
  chat.set_system("s");
  chat.add_user("1");
  chat.add_assistant("a", "");
  chat.add_user("2");
  chat.add_user("3");
  CHECK(chat.drop_oldest());
  REQUIRE(chat.turns().size() == 2);
  CHECK(chat.turns()[0].content == "2");
  CHECK(chat.drop_oldest());
  CHECK_FALSE(chat.drop_oldest());
  REQUIRE(chat.turns().size() == 1);
  CHECK(chat.turns()[0].content == "3");
  CHECK(chat.system() == "s");
  CHECK_FALSE(Conversation().drop_oldest());
}

TEST_CASE("an array of messages alone is accepted, null content is empty") {
  const auto chat = Conversation::from_json(Json::parse(
      R"([{"role":"user","content":"a"},{"role":"assistant","content":null}])", "test"));
  REQUIRE(chat.turns().size() == 2);
  CHECK(chat.turns()[1].content.empty());
}

TEST_CASE("wrong conversations are refused, naming message and field") {
  const auto refuses = [](const char* text, const char* part) {
    try {
      Conversation::from_json(Json::parse(text, "test"));
      FAIL("accepted: " << text);
    } catch (const linnet::Error& error) {
      CHECK(error.code() == linnet::ErrorCode::invalid_argument);
      CHECK_MESSAGE(std::string(error.what()).find(part) != std::string::npos, error.what());
    }
  };
  refuses("{}", "messages");
  refuses("17", "messages");
  refuses("[1]", "messages[0]");
  refuses(R"([{"role":"user","content":"a"},{"role":"system","content":"b"}])", "messages[1].role");
  refuses(R"([{"role":"wizard","content":"b"}])", "messages[0].role");
  refuses(R"([{"content":"b"}])", "messages[0].role");
  refuses(R"([{"role":"user","content":["b"]}])", "messages[0].content");
  refuses(R"([{"role":"assistant","tool_calls":5}])", "messages[0].tool_calls");
  refuses(R"([{"role":"assistant","tool_calls":[{}]}])", "messages[0].tool_calls[0].function");
  refuses(R"([{"role":"assistant","tool_calls":[{"function":{"name":5}}]}])",
          "messages[0].tool_calls[0].function.name");
}
