# Threads, strings, a child, an exception that leaves a fiber.
words = Hash.new { |hash, key| hash[key] = [] }
60_000.times { |i| words["k#{i % 509}"] << "v#{i}" }
puts words.sort.map { |key, list| "#{key}#{list.join.length}" }.join(",").length
puts (1..16).map { |n| Thread.new { (1..2000).map { |i| (i * n).to_s }.join.length } }.map(&:value).inspect
fiber = Fiber.new { Fiber.yield 1; raise "out" }
fiber.resume
begin
  fiber.resume
rescue RuntimeError => error
  puts error.message
end
def deep(n) = deep(n + 1)
begin
  deep(0)
rescue SystemStackError
  puts "overflow caught"
end
puts `echo child`
exit 8
