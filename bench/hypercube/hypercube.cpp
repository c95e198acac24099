// SPDX-License-Identifier: MIT
// A simulator of a hypercube, in the place of lindsay (Heap Layers, Table 3): nodes send messages to each other along
// the edges of a cube of many dimensions. Nodes and their tables stay, messages, their routes and the events that move
// them come and go. One thread.
#include "../common/options.hpp"
#include "../common/random.hpp"

#include <cinttypes>
#include <memory>
#include <string>
#include <vector>

using namespace cairn::bench;

namespace {

struct Message {
    std::uint32_t from, to;
    std::uint64_t sent;
    std::string payload;
    std::vector<std::uint32_t> route;
};

struct Event {
    std::unique_ptr<Message> message;
    std::uint32_t at = 0;
    std::unique_ptr<Event> next;
};

struct Node {
    std::vector<std::uint64_t> carried; // by dimension
    std::vector<std::unique_ptr<std::string>> received;
};

/// Events by the moment at which they are due: a wheel, since an edge takes at most as long as there are dimensions.
class Wheel {
public:
    explicit Wheel(std::size_t moments) : slots_(moments) {}
    void put(std::uint64_t when, std::unique_ptr<Event> event) {
        std::unique_ptr<Event> &slot = slots_[when % slots_.size()];
        event->next = std::move(slot);
        slot = std::move(event);
        ++waiting_;
    }
    std::unique_ptr<Event> take(std::uint64_t now) {
        std::unique_ptr<Event> &slot = slots_[now % slots_.size()];
        std::unique_ptr<Event> event = std::move(slot);
        if (event) {
            slot = std::move(event->next);
            --waiting_;
        }
        return event;
    }
    std::uint64_t waiting() const { return waiting_; }

private:
    std::vector<std::unique_ptr<Event>> slots_;
    std::uint64_t waiting_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "messages in a hypercube");
    const std::uint64_t given = options.number("dimensions", 11, "of the cube");
    const std::uint64_t messages = options.work("messages", 400000, "sent in all");
    options.finish();
    if (given < 3 || given > 24)
        options.refuse("dimensions", "outside 3 to 24");

    const auto dimensions = static_cast<std::uint32_t>(given);
    const std::uint32_t count = std::uint32_t{1} << dimensions;
    std::vector<Node> nodes(count);
    for (Node &node : nodes)
        node.carried.resize(dimensions);
    Wheel wheel(dimensions + 2);
    Random random(1);
    std::uint64_t sent = 0, hops = 0, delays = 0;
    for (std::uint64_t now = 0; sent < messages || wheel.waiting() != 0; ++now) {
        for (std::uint32_t i = 0; i < count / 8 && sent < messages; ++i, ++sent) {
            auto message = std::make_unique<Message>();
            message->from = static_cast<std::uint32_t>(random.below(count));
            message->to = static_cast<std::uint32_t>(random.below(count));
            message->sent = now;
            message->payload.assign(random.log_between(8, 255), 'a');
            auto event = std::make_unique<Event>();
            event->at = message->from;
            event->message = std::move(message);
            wheel.put(now + 1, std::move(event));
        }
        while (std::unique_ptr<Event> event = wheel.take(now)) {
            const std::uint32_t differ = event->at ^ event->message->to;
            if (differ == 0) {
                delays += now - event->message->sent;
                Node &node = nodes[event->at];
                if (node.received.size() == 8) // a node remembers the last ones
                    node.received.erase(node.received.begin());
                node.received.push_back(std::make_unique<std::string>(std::move(event->message->payload)));
                continue;
            }
            const auto dimension = static_cast<std::uint32_t>(__builtin_ctz(differ));
            event->message->route.push_back(event->at);
            event->at ^= std::uint32_t{1} << dimension;
            ++nodes[event->at].carried[dimension];
            ++hops;
            auto moved = std::make_unique<Event>();
            moved->at = event->at;
            moved->message = std::move(event->message);
            wheel.put(now + 1 + dimension % 3, std::move(moved));
        }
    }
    std::printf("hypercube: %" PRIu64 " messages, %" PRIu64 " hops, %" PRIu64 " steps of delay\n", sent, hops,
                delays);
}
