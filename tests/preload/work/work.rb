# SPDX-License-Identifier: MIT
# Work for ruby: strings, hashes, threads and their queues, marshalling, forced and compacting collections, fork.
require 'digest'
require 'json'
require 'stringio'
require 'zlib'

def digest(data) = Digest::SHA256.hexdigest(data)[0, 16]

index = Hash.new { |hash, key| hash[key] = [] }
60_000.times { |i| index[((i * 7919) % 5003).to_s(36)] << "#{i}-#{'x' * (i % 50)}" }
puts "hash #{index.size} #{digest(index.sort.inspect)}"

text = (1..20_000).map { |i| "word#{i % 977}#{'é' * (i % 7)}" }.join(' ')
changed = text.gsub(/(\d+)(é*)/) { "#{$2.length}-#{$1.reverse}" }
puts "strings #{text.length} #{digest(changed)} #{changed.scan(/w\w+-\d/).tally.size}"

tree = lambda { |depth, n| depth.zero? ? "leaf#{n}" * (n % 20) : { "a#{n}" => tree[depth - 1, n * 3 % 101], 'list' => [tree[depth - 1, n + 1], n, nil, 1.5] } }
value = tree[11, 5]
puts "json #{digest(JSON.generate(value))} #{JSON.parse(JSON.generate(value)) == value}"
puts "marshal #{digest(Marshal.dump(Marshal.load(Marshal.dump(value))))}"

queue = SizedQueue.new(32)
takers = Array.new(4) do
  Thread.new do
    sum = 0
    while (block = queue.pop)
      sum += Zlib.crc32(Zlib.inflate(block))
    end
    sum
  end
end
makers = Array.new(4) { |n| Thread.new { 200.times { |i| queue << Zlib.deflate("#{n}:#{i}" * (1 + i * 13 % 900)) } } }
makers.each(&:join)
4.times { queue << nil }
puts "threads #{takers.sum(&:value)}"

GC.stress = true
puts "stress #{Array.new(15) { |i| "value #{i}" * i }.join.length}"
GC.stress = false
5.times do
  junk = Array.new(30_000) { |i| i.odd? ? 'y' * (i % 300) : { i => [i] } }
  junk.select!.with_index { |_, i| (i % 10).zero? }
  GC.start(full_mark: true)
  GC.compact if GC.respond_to?(:compact)
end

fibers = Array.new(300) { |n| Fiber.new { 3.times { |i| Fiber.yield("#{n}.#{i}" * 20) } } }
puts "fibers #{digest(3.times.flat_map { fibers.map(&:resume) }.join)}"

children = Array.new(4) do |n|
  reader, writer = IO.pipe
  pid = fork do
    reader.close
    list = Array.new(20_000) { |i| (i * 7919 + n) % 10_007 }.sort
    GC.start
    writer.write("child #{n} #{digest(list.join(','))}")
    writer.close
    exit!(0)
  end
  writer.close
  [pid, reader]
end
children.each do |pid, reader|
  puts reader.read
  Process.wait(pid)
  raise "child #{$?}" unless $?.success?
end
