-- The Sun and its four giants, stepped by a symplectic integrator: floating-point arithmetic and table access.
-- Units: astronomical unit, year, solar mass * 4 pi^2. Argument: the number of steps of 0.01 year.

local steps = tonumber(arg[1]) or 50000
local day = 365.24
local sun_mass = 4 * math.pi ^ 2

local function body(name, mass, x, y, z, vx, vy, vz)
    return {
        name = name, mass = mass * sun_mass,
        x = x, y = y, z = z, vx = vx * day, vy = vy * day, vz = vz * day,
    }
end

local bodies = {
    body("Sun", 1, 0, 0, 0, 0, 0, 0),
    body("Jupiter", 9.5479e-4, 4.8414, -1.1603, -0.10362, 1.6600e-3, 7.6990e-3, -6.9046e-5),
    body("Saturn", 2.8588e-4, 8.3433, 4.1248, -0.40352, -2.7674e-3, 4.9985e-3, 2.3042e-5),
    body("Uranus", 4.3662e-5, 12.894, -15.111, -0.22331, 2.9646e-3, 2.3784e-3, -2.9658e-5),
    body("Neptune", 5.1513e-5, 15.379, -25.919, 0.17926, 2.6806e-3, 1.6282e-3, -9.5159e-5),
}

local function rest_momentum()
    local sun, px, py, pz = bodies[1], 0, 0, 0
    for _, b in ipairs(bodies) do
        px, py, pz = px + b.vx * b.mass, py + b.vy * b.mass, pz + b.vz * b.mass
    end
    sun.vx, sun.vy, sun.vz = -px / sun.mass, -py / sun.mass, -pz / sun.mass
end

local function energy()
    local sum = 0
    for i, a in ipairs(bodies) do
        sum = sum + 0.5 * a.mass * (a.vx ^ 2 + a.vy ^ 2 + a.vz ^ 2)
        for j = i + 1, #bodies do
            local b = bodies[j]
            sum = sum - a.mass * b.mass / math.sqrt((a.x - b.x) ^ 2 + (a.y - b.y) ^ 2 + (a.z - b.z) ^ 2)
        end
    end
    return sum
end

local function step(dt)
    for i = 1, #bodies do
        local a = bodies[i]
        for j = i + 1, #bodies do
            local b = bodies[j]
            local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
            local square = dx * dx + dy * dy + dz * dz
            local pull = dt / (square * math.sqrt(square))
            local of_a, of_b = a.mass * pull, b.mass * pull
            a.vx, a.vy, a.vz = a.vx - dx * of_b, a.vy - dy * of_b, a.vz - dz * of_b
            b.vx, b.vy, b.vz = b.vx + dx * of_a, b.vy + dy * of_a, b.vz + dz * of_a
        end
    end
    for _, b in ipairs(bodies) do
        b.x, b.y, b.z = b.x + dt * b.vx, b.y + dt * b.vy, b.z + dt * b.vz
    end
end

rest_momentum()
print(string.format("energy at the start  %.12f", energy()))
for _ = 1, steps do
    step(0.01)
end
print(string.format("energy at the end    %.12f", energy()))
for _, b in ipairs(bodies) do
    print(string.format("%-8s %14.9f %14.9f %14.9f", b.name, b.x, b.y, b.z))
end
