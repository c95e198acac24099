# SPDX-License-Identifier: MIT
# Strings, hashes, arrays, symbols, structures and regular expressions, made and dropped; the collector is ruby's own, what
# is longer than a slot comes from malloc.
scale = ARGV.empty? ? 100 : ARGV[0].to_i
Item = Struct.new(:name, :numbers, :tags, :parent)
sum = 0

(1..[16 * scale / 100, 1].max).each do |turn|
  items = (0...6000).map do |i|
    Item.new("item-#{i * 7919 % 10007}-#{'x' * (i % 90)}", (0..i % 40).to_a, { id: i, text: "t#{i}" * (i % 12) }, nil)
  end
  items.each_with_index { |item, i| item.parent = items[i / 3] unless i.zero? }
  groups = items.group_by { |item| item.name.size % 97 }
  words = Hash.new { |hash, word| hash[word] = [] }
  items.each do |item|
    item.name.scan(/\d+|x{1,5}/) { |word| words[word] << item.numbers.size }
    item.numbers.map! { |number| number.to_s.rjust(30, "0") }
  end
  report = groups.sort.map { |size, members| "#{size}: #{members.map(&:name).sort.join(',')}" }.join("\n")
  copy = Marshal.load(Marshal.dump(items.first(1500).map { |item| [item.name, item.numbers, item.tags] }))
  text = report.gsub(/item-(\d+)/) { ($1.to_i * turn).to_s(36) }.lines.map(&:strip).reject(&:empty?)
  big = (1..400).inject(1) { |product, factor| product * (factor + turn) }
  depth = items.map { |item| count = 0; count += 1 while (item = item.parent); count }.max
  sum = (sum * 31 + text.sum(&:size) + words.sum { |word, sizes| word.size * sizes.sum } + copy.flatten.size +
         big.to_s.size + depth) % 1_000_003
end
puts "ruby: #{sum}"
