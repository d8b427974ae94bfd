-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
local sqrt = math.sqrt
local function pull(a, b, step)
    local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
    local square = dx * dx + dy * dy + dz * dz
    local strength = step / (square * sqrt(square))
    a.vx = a.vx - dx * b.mass * strength
    a.vy = a.vy - dy * b.mass * strength
    a.vz = a.vz - dz * b.mass * strength
    b.vx = b.vx + dx * a.mass * strength
    b.vy = b.vy + dy * a.mass * strength
    b.vz = b.vz + dz * a.mass * strength
end
local function advance(bodies, step)
    for i = 1, #bodies do
        for j = i + 1, #bodies do pull(bodies[i], bodies[j], step) end
    end
    for i = 1, #bodies do
        local b = bodies[i]
        b.x = b.x + step * b.vx
        b.y = b.y + step * b.vy
        b.z = b.z + step * b.vz
    end
end
local function body(x, y, z, vx, vy, vz, mass)
    return {x = x, y = y, z = z, vx = vx, vy = vy, vz = vz, mass = mass}
end
local bodies = {body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 40.0), body(5.0, 0.0, 0.1, 0.0, 2.8, 0.0, 0.04),
    body(0.0, 9.0, 0.0, -2.1, 0.0, 0.1, 0.01), body(-15.0, 0.0, 0.0, 0.0, -1.6, 0.0, 0.002)}
for _ = 1, 1000000 do advance(bodies, 0.001) end
local x = bodies[2].x * 1000000.0
print(string.format("%d", x < 0 and math.ceil(x) or math.floor(x)))
