// SPDX-License-Identifier: MIT
// Dynamics of a robot's arm with matrices as objects, in the place of roboop (Heap Layers, Table 3): every product and
// sum is a new small matrix on the heap, and next to nothing is live. One thread.
#include "../common/options.hpp"

#include <cinttypes>
#include <cmath>
#include <memory>

using namespace cairn::bench;

namespace {

class Matrix {
public:
    Matrix(std::size_t rows, std::size_t columns)
        : rows_(rows), columns_(columns), values_(new float[rows * columns]()) {}
    Matrix(const Matrix &other) : Matrix(other.rows_, other.columns_) {
        for (std::size_t i = 0; i < rows_ * columns_; ++i)
            values_[i] = other.values_[i];
    }
    Matrix(Matrix &&) = default;
    Matrix &operator=(Matrix other) {
        std::swap(rows_, other.rows_);
        std::swap(columns_, other.columns_);
        std::swap(values_, other.values_);
        return *this;
    }
    ~Matrix() = default;

    float &at(std::size_t i, std::size_t j = 0) { return values_[i * columns_ + j]; }
    float at(std::size_t i, std::size_t j = 0) const { return values_[i * columns_ + j]; }

    friend Matrix operator*(const Matrix &a, const Matrix &b) {
        Matrix result(a.rows_, b.columns_);
        for (std::size_t i = 0; i < a.rows_; ++i)
            for (std::size_t j = 0; j < b.columns_; ++j)
                for (std::size_t k = 0; k < a.columns_; ++k)
                    result.at(i, j) += a.at(i, k) * b.at(k, j);
        return result;
    }
    friend Matrix operator+(const Matrix &a, const Matrix &b) {
        Matrix result(a);
        for (std::size_t i = 0; i < a.rows_ * a.columns_; ++i)
            result.values_[i] += b.values_[i];
        return result;
    }
    friend Matrix operator*(float factor, const Matrix &a) {
        Matrix result(a);
        for (std::size_t i = 0; i < a.rows_ * a.columns_; ++i)
            result.values_[i] *= factor;
        return result;
    }
    Matrix transposed() const {
        Matrix result(columns_, rows_);
        for (std::size_t i = 0; i < rows_; ++i)
            for (std::size_t j = 0; j < columns_; ++j)
                result.at(j, i) = at(i, j);
        return result;
    }

private:
    std::size_t rows_, columns_;
    std::unique_ptr<float[]> values_;
};

Matrix cross(const Matrix &a, const Matrix &b) {
    Matrix result(3, 1);
    for (std::size_t i = 0; i < 3; ++i)
        result.at(i) = a.at((i + 1) % 3) * b.at((i + 2) % 3) - a.at((i + 2) % 3) * b.at((i + 1) % 3);
    return result;
}

Matrix rotation(float angle, float twist) {
    Matrix r(3, 3);
    const float c = std::cos(angle), s = std::sin(angle), u = std::cos(twist), v = std::sin(twist);
    r.at(0, 0) = c;
    r.at(0, 1) = -s * u;
    r.at(0, 2) = s * v;
    r.at(1, 0) = s;
    r.at(1, 1) = c * u;
    r.at(1, 2) = -c * v;
    r.at(2, 1) = v;
    r.at(2, 2) = u;
    return r;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "the dynamics of an arm, in small matrices");
    const std::uint64_t rounds = options.work("rounds", 40000, "times that all joints are gone through");
    options.finish();

    constexpr std::size_t joints = 6;
    Matrix axis(3, 1), link(3, 1);
    axis.at(2) = 1;
    link.at(0) = 0.4F;
    link.at(2) = 0.1F;
    double sum = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        Matrix spin(3, 1), gain(3, 1), pull(3, 1);
        pull.at(2) = 9.81F;
        for (std::size_t joint = 0; joint < joints; ++joint) { // Newton and Euler, outward
            const float q = 0.001F * static_cast<float>(round % 1000) + static_cast<float>(joint);
            const Matrix back = rotation(q, joint % 2 == 0 ? 1.57F : -1.57F).transposed();
            const Matrix turned = back * (spin + 0.5F * axis);
            gain = back * (gain + 0.1F * axis + cross(spin, 0.5F * axis));
            spin = turned;
            pull = back * pull + cross(gain, link) + cross(spin, cross(spin, link));
        }
        sum += static_cast<double>((pull.transposed() * pull).at(0, 0));
    }
    std::printf("robot: %" PRIu64 " rounds, %.6g\n", rounds, sum / static_cast<double>(rounds));
}
