// SPDX-License-Identifier: MIT
// A boundary-element solver in objects, with the three phases of BEMengine (Hoard, section 5.2): equation registration
// (every panel of a charged sphere makes an equation, its coefficients in blocks), preconditioner (a small factored
// matrix for the near field of each group of panels), solver (conjugate gradients, vectors come and go in each step).
// Some hundred megabytes live at once, most of it in small blocks that all threads made. The seconds of the phases go
// to stderr, as a line that begins with "figures:".
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

using namespace cairn::bench;

namespace {

constexpr std::size_t group =
    48; // panels that are near each other: one block of coefficients, one small factor

struct Panel {
    double x, y, z, area;
};

double interaction(const Panel &a, const Panel &b) {
    const double d =
        std::sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z));
    // The potential of a panel at its own center is that of a disc of the same area.
    return d < 1e-12 ? 2 * std::sqrt(std::numbers::pi * a.area) : b.area / d;
}

// The coefficients of one equation for one group of panels.
class Term {
public:
    virtual ~Term() = default;
    virtual double apply(const double *charges) const = 0;
};

class DenseTerm final : public Term {
public:
    DenseTerm(const Panel &at, const Panel *panels, std::size_t first, std::size_t count) : first_(first) {
        coefficients_.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            coefficients_.push_back(interaction(at, panels[first + i]));
    }
    double apply(const double *charges) const override {
        double sum = 0;
        for (std::size_t i = 0; i < coefficients_.size(); ++i)
            sum += coefficients_[i] * charges[first_ + i];
        return sum;
    }

private:
    std::size_t first_;
    std::vector<double> coefficients_;
};

// A group that is far away acts like one charge in its middle.
class FarTerm final : public Term {
public:
    FarTerm(const Panel &at, const Panel *panels, std::size_t first, std::size_t count)
        : first_(first), count_(count) {
        for (std::size_t i = 0; i < count; ++i)
            mean_ += interaction(at, panels[first + i]) / static_cast<double>(count);
    }
    double apply(const double *charges) const override {
        double sum = 0;
        for (std::size_t i = 0; i < count_; ++i)
            sum += charges[first_ + i];
        return sum * mean_;
    }

private:
    std::size_t first_, count_;
    double mean_ = 0;
};

struct Equation {
    std::vector<std::unique_ptr<Term>> terms;
    double potential = 1;
};

// LU factors of the near field of one group.
class Factor {
public:
    Factor(const Panel *panels, std::size_t first, std::size_t count) : first_(first), rows_(count) {
        for (std::size_t i = 0; i < count; ++i) {
            rows_[i].resize(count);
            for (std::size_t j = 0; j < count; ++j)
                rows_[i][j] = interaction(panels[first + i], panels[first + j]);
        }
        for (std::size_t k = 0; k < count; ++k) {
            for (std::size_t i = k + 1; i < count; ++i) {
                const double by = rows_[i][k] /= rows_[k][k];
                for (std::size_t j = k + 1; j < count; ++j)
                    rows_[i][j] -= by * rows_[k][j];
            }
        }
    }
    void solve(const double *right, double *result) const {
        const std::size_t n = rows_.size();
        for (std::size_t i = 0; i < n; ++i) {
            result[first_ + i] = right[first_ + i];
            for (std::size_t j = 0; j < i; ++j)
                result[first_ + i] -= rows_[i][j] * result[first_ + j];
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t j = i + 1; j < n; ++j)
                result[first_ + i] -= rows_[i][j] * result[first_ + j];
            result[first_ + i] /= rows_[i][i];
        }
    }

private:
    std::size_t first_;
    std::vector<std::vector<double>> rows_;
};

/// A spiral over the sphere: panels with near numbers are near each other.
std::vector<Panel> sphere(std::size_t count) {
    std::vector<Panel> panels(count);
    const double turn = std::numbers::pi * (3 - std::sqrt(5.0));
    for (std::size_t i = 0; i < count; ++i) {
        const double z = 1 - (2 * static_cast<double>(i) + 1) / static_cast<double>(count);
        const double r = std::sqrt(1 - z * z);
        const double angle = turn * static_cast<double>(i);
        panels[i] = {r * std::cos(angle), r * std::sin(angle), z,
                     4 * std::numbers::pi / static_cast<double>(count)};
    }
    return panels;
}

using Vector = std::vector<double>;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double dot(const Vector &a, const Vector &b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

} // namespace

int main(int argc, char **argv) {
    Options options(
        argc, argv,
        "a boundary-element solver: equations, preconditioner, solver (BEMengine in Hoard, section 5.2)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t count =
        options.number("panels", 8000, "panels of the sphere; memory grows with the square");
    const std::uint64_t solves = options.work("solves", 4, "times that the system is set up and solved");
    options.finish();

    const std::vector<Panel> panels = sphere(count);
    const std::size_t groups = (count + group - 1) / group;
    double charge = 0;
    double before = 0, making = 0, solving = 0; // kept by thread 0
    for (std::uint64_t solve = 0; solve < solves; ++solve) {
        std::vector<std::unique_ptr<Equation>> equations(count);
        std::vector<std::unique_ptr<Factor>> factors(groups);
        std::barrier all(static_cast<std::ptrdiff_t>(threads));
        Vector charges(count), residual(count), direction(count), scaled(count), image(count);
        double old_measure = 0;
        int steps = 0;
        bool done = false;
        before = now();
        run_crew(threads, [&](std::size_t self) {
            const std::size_t first = count * self / threads;
            const std::size_t last = count * (self + 1) / threads;
            for (std::size_t i = first; i < last; ++i) { // equation registration
                auto equation = std::make_unique<Equation>();
                for (std::size_t g = 0; g < groups; ++g) {
                    const std::size_t start = g * group;
                    const std::size_t size = std::min(group, count - start);
                    const bool far = interaction(panels[i], panels[start + size / 2]) < panels[i].area / 1.6;
                    if (far)
                        equation->terms.push_back(
                            std::make_unique<FarTerm>(panels[i], panels.data(), start, size));
                    else
                        equation->terms.push_back(
                            std::make_unique<DenseTerm>(panels[i], panels.data(), start, size));
                }
                equations[i] = std::move(equation);
            }
            for (std::size_t g = self; g < groups; g += threads) // preconditioner
                factors[g] =
                    std::make_unique<Factor>(panels.data(), g * group, std::min(group, count - g * group));
            all.arrive_and_wait();
            if (self == 0) {
                making += now() - before;
                before = now();
                for (std::size_t i = 0; i < count; ++i)
                    residual[i] = equations[i]->potential;
            }
            all.arrive_and_wait();
            while (!done) { // solver
                for (std::size_t g = self; g < groups; g += threads)
                    factors[g]->solve(residual.data(), scaled.data());
                all.arrive_and_wait();
                if (self == 0) {
                    const double measure = dot(residual, scaled);
                    Vector next(count); // a vector a step, as an object of its own
                    for (std::size_t i = 0; i < count; ++i)
                        next[i] = scaled[i] + (steps == 0 ? 0 : measure / old_measure) * direction[i];
                    direction = std::move(next);
                    old_measure = measure;
                }
                all.arrive_and_wait();
                Vector part(last - first);
                for (std::size_t i = first; i < last; ++i) {
                    for (const auto &term : equations[i]->terms)
                        part[i - first] += term->apply(direction.data());
                }
                std::copy(part.begin(), part.end(), image.begin() + static_cast<std::ptrdiff_t>(first));
                all.arrive_and_wait();
                if (self == 0) {
                    const double length = old_measure / dot(direction, image);
                    for (std::size_t i = 0; i < count; ++i) {
                        charges[i] += length * direction[i];
                        residual[i] -= length * image[i];
                    }
                    done = ++steps == 12;
                }
                all.arrive_and_wait();
            }
            if (self == 0)
                solving += now() - before;
            for (std::size_t i = first; i < last; ++i) // each thread clears what its neighbour made
                equations[(i + count / 2) % count].reset();
            return 0;
        });
        charge = 0;
        for (std::size_t i = 0; i < count; ++i)
            charge += charges[i] * panels[i].area;
    }
    std::fprintf(stderr, "figures: {\"registration_and_preconditioner\": %.6f, \"solver\": %.6f}\n", making,
                 solving);
    std::printf("bem: capacity of the sphere %.9g\n", charge);
}
