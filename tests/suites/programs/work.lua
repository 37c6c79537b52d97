-- Tables, closures, coroutines, string buffers.
local kept = {}
for i = 1, 200000 do kept[i % 5000] = { i, tostring(i), function() return i end } end
local routines = {}
for i = 1, 500 do
  routines[i] = coroutine.wrap(function() for j = 1, 20 do coroutine.yield(("%d"):rep(j):format(table.unpack({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 }, 1, j))) end end)
end
local length = 0
for _, routine in ipairs(routines) do for _ = 1, 20 do length = length + #routine() end end
print(length, #kept, kept[7][2], kept[7][3]())
local ok, message = pcall(error, "caught")
print(ok, message)
collectgarbage()
os.exit(2)
