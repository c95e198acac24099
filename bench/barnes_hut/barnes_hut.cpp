// SPDX-License-Identifier: MIT
// Barnes-Hut (Hoard, section 5.2; Barnes and Hut, Nature 324, 1986): n bodies that attract each other. In each round
// the threads build an octree together, each the parts of space that it draws, walk it for the forces, move the bodies
// and free the tree. A node is one malloc, of 120 bytes; the program that Hoard's authors took had blocks of 39 bytes
// on average (Table 4) and about as many of them. The result does not depend on the number of threads.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cmath>
#include <new>

using namespace cairn::bench;

namespace {

struct Vector {
    double x = 0, y = 0, z = 0;

    Vector operator+(const Vector &o) const { return {x + o.x, y + o.y, z + o.z}; }
    Vector operator-(const Vector &o) const { return {x - o.x, y - o.y, z - o.z}; }
    Vector operator*(double s) const { return {x * s, y * s, z * s}; }
    double square() const { return x * x + y * y + z * z; }
};

struct Body {
    Vector at, speed, pull;
    double mass = 0;
};

// A cell of space with what is in it: eight smaller cells, or one body, or the bodies of a cell too small to split.
struct Node {
    Vector center; // of the mass
    double mass = 0;
    double width = 0;
    std::array<Node *, 8> parts{};
    Body *body = nullptr;
    Node *same_place = nullptr;
};

Node *make_node(double width) {
    void *memory = std::malloc(sizeof(Node));
    expect_sound(memory, sizeof(Node));
    Node *node = new (memory) Node;
    node->width = width;
    return node;
}

void free_tree(Node *node) {
    if (node == nullptr)
        return;
    for (Node *part : node->parts)
        free_tree(part);
    free_tree(node->same_place);
    std::free(node);
}

struct Cube {
    Vector low;
    double width;

    std::size_t octant(const Vector &at) const {
        const double half = width / 2;
        return std::size_t{at.x >= low.x + half} | std::size_t{at.y >= low.y + half} << 1 |
               std::size_t{at.z >= low.z + half} << 2;
    }
    Cube part(std::size_t octant) const {
        const double half = width / 2;
        return {{low.x + ((octant & 1) != 0 ? half : 0), low.y + ((octant & 2) != 0 ? half : 0),
                 low.z + ((octant & 4) != 0 ? half : 0)},
                half};
    }
};

constexpr int deepest = 48;

void insert(Node *&place, Body &body, const Cube &cube, int depth) {
    if (place == nullptr) {
        place = make_node(cube.width);
        place->body = &body;
        return;
    }
    Node &node = *place;
    if (depth == deepest) {
        Node *other = make_node(cube.width);
        other->body = &body;
        other->same_place = node.same_place;
        node.same_place = other;
        return;
    }
    if (node.body != nullptr) {
        Body &first = *node.body;
        node.body = nullptr;
        const std::size_t o = cube.octant(first.at);
        insert(node.parts[o], first, cube.part(o), depth + 1);
    }
    const std::size_t o = cube.octant(body.at);
    insert(node.parts[o], body, cube.part(o), depth + 1);
}

void weigh(Node *node) {
    if (node == nullptr)
        return;
    Vector sum;
    double mass = 0;
    const auto add = [&](const Vector &at, double m) {
        sum = sum + at * m;
        mass += m;
    };
    if (node->body != nullptr)
        add(node->body->at, node->body->mass);
    for (Node *other = node->same_place; other != nullptr; other = other->same_place)
        add(other->body->at, other->body->mass);
    for (Node *part : node->parts) {
        weigh(part);
        if (part != nullptr)
            add(part->center, part->mass);
    }
    node->mass = mass;
    node->center = sum * (1 / mass);
}

void pull(Body &body, const Node *node, double opening) {
    if (node == nullptr || node->body == &body)
        return;
    const Vector way = node->center - body.at;
    const double distance = way.square() + 1e-4; // softened: no two bodies fly apart after a near hit
    if (node->body == nullptr && node->width * node->width > opening * opening * distance) {
        for (const Node *part : node->parts)
            pull(body, part, opening);
        return;
    }
    body.pull = body.pull + way * (node->mass / (distance * std::sqrt(distance)));
}

/// Plummer's model of a cluster, cut off at ten radii.
void scatter(Table<Body> &bodies) {
    Random random(1986);
    const auto unit = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
    const auto direction = [&] {
        Vector v;
        do {
            v = {2 * unit() - 1, 2 * unit() - 1, 2 * unit() - 1};
        } while (v.square() > 1 || v.square() < 1e-9);
        return v * (1 / std::sqrt(v.square()));
    };
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        double radius = 0;
        do {
            radius = 1 / std::sqrt(std::pow(unit() + 1e-9, -2.0 / 3) - 1 + 1e-12);
        } while (radius > 10);
        bodies[i].mass = 1 / static_cast<double>(bodies.size());
        bodies[i].at = direction() * radius;
        bodies[i].speed = direction() * (0.5 * std::pow(1 + radius * radius, -0.25));
    }
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "bodies that attract each other; a tree is built in each round (Hoard, section 5.2)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t count = options.number("bodies", 32768, "bodies");
    const std::uint64_t rounds = options.work("rounds", 20, "rounds");
    options.finish();

    constexpr std::size_t cells = 64; // two levels of eight
    constexpr double opening = 0.7;
    constexpr double step = 0.01;
    Table<Body> bodies(count);
    for (std::size_t i = 0; i < count; ++i)
        new (&bodies[i]) Body;
    scatter(bodies);
    std::array<Node *, cells> trees{};
    Node *root = nullptr;
    Cube space{};
    std::atomic<std::size_t> next_cell{0};
    std::atomic<std::size_t> next_free{0};
    std::barrier all(static_cast<std::ptrdiff_t>(threads));

    const auto frame = [&] {
        double reach = 0;
        for (std::size_t i = 0; i < count; ++i)
            reach = std::max(
                {reach, std::fabs(bodies[i].at.x), std::fabs(bodies[i].at.y), std::fabs(bodies[i].at.z)});
        reach *= 1.001;
        space = {{-reach, -reach, -reach}, 2 * reach};
        next_cell = 0;
        next_free = 0;
    };
    const auto join = [&] {
        root = make_node(space.width);
        for (std::size_t i = 0; i < 8; ++i) {
            for (std::size_t j = 0; j < 8; ++j) {
                if (trees[i * 8 + j] != nullptr) {
                    if (root->parts[i] == nullptr)
                        root->parts[i] = make_node(space.width / 2);
                    root->parts[i]->parts[j] = trees[i * 8 + j];
                }
            }
        }
        for (Node *part : root->parts) {
            if (part != nullptr) {
                Vector sum;
                for (const Node *tree : part->parts) {
                    if (tree != nullptr) {
                        sum = sum + tree->center * tree->mass;
                        part->mass += tree->mass;
                    }
                }
                part->center = sum * (1 / part->mass);
                root->center = root->center + sum;
                root->mass += part->mass;
            }
        }
        root->center = root->center * (1 / root->mass);
    };

    run_crew(threads, [&](std::size_t self) {
        const std::size_t first = count * self / threads;
        const std::size_t last = count * (self + 1) / threads;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (self == 0)
                frame();
            all.arrive_and_wait();
            for (std::size_t cell = next_cell++; cell < cells; cell = next_cell++) {
                const Cube outer = space.part(cell / 8);
                const Cube inner = outer.part(cell % 8);
                trees[cell] = nullptr;
                for (std::size_t i = 0; i < count; ++i)
                    if (space.octant(bodies[i].at) == cell / 8 && outer.octant(bodies[i].at) == cell % 8)
                        insert(trees[cell], bodies[i], inner, 2);
                weigh(trees[cell]);
            }
            all.arrive_and_wait();
            if (self == 0)
                join();
            all.arrive_and_wait();
            for (std::size_t i = first; i < last; ++i) {
                bodies[i].pull = {};
                pull(bodies[i], root, opening);
            }
            all.arrive_and_wait();
            for (std::size_t i = first; i < last; ++i) {
                bodies[i].speed = bodies[i].speed + bodies[i].pull * step;
                bodies[i].at = bodies[i].at + bodies[i].speed * step;
            }
            for (std::size_t cell = next_free++; cell < cells; cell = next_free++)
                free_tree(trees[cell]);
            all.arrive_and_wait();
            if (self == 0) {
                for (Node *part : root->parts)
                    std::free(part);
                std::free(root);
            }
        }
        return 0;
    });
    double energy = 0;
    for (std::size_t i = 0; i < count; ++i)
        energy += 0.5 * bodies[i].mass * bodies[i].speed.square();
    std::printf("barnes_hut: kinetic energy %.12g\n", energy);
}
