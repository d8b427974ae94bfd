-- FILE COUNT ARGUMENT: so many rounds of a program. Prints the processor time of the process in the last quarter of
-- them, when nothing is compiled any more, for one round (ms).

local chunk, count = assert(loadfile(arg[1])), tonumber(arg[2])
local out, times = print, {}
arg, print = {arg[3]}, function() end
for i = 1, count do
    local start = os.clock()
    assert(pcall(chunk)) -- through C, so that each round is a new frame of the interpreter
    times[i] = (os.clock() - start) * 1e3
end
local last = table.move(times, count - count // 4 + 1, count, 1, {})
table.sort(last)
out(string.format("round_ms %.2f", last[#last // 2 + 1]))
