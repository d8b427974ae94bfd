-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
local byte, sub = string.byte, string.sub
local function occurrences(line, letter)
    local found = 0
    for i = 1, #line do if byte(line, i) == letter then found = found + 1 end end
    return found
end
local counts, different, sum, line = {}, 0, 0, ""
for i = 0, 999999 do
    local word = "w" .. i * 7919 % 10007
    if counts[word] then counts[word] = counts[word] + 1 else counts[word] = 1; different = different + 1 end
    line = line .. word .. " "
    if i % 20 == 19 then
        sum = sum + occurrences(line, 55) + #sub(line, 4, 9)
        line = ""
    end
end
print(different .. " " .. counts["w77"] .. " " .. sum)
