(* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception *)
type body = { mutable x : float; mutable y : float; mutable z : float;
              mutable vx : float; mutable vy : float; mutable vz : float; mass : float }
let pull a b step =
  let dx = a.x -. b.x and dy = a.y -. b.y and dz = a.z -. b.z in
  let square = dx *. dx +. dy *. dy +. dz *. dz in
  let strength = step /. (square *. sqrt square) in
  a.vx <- a.vx -. dx *. b.mass *. strength;
  a.vy <- a.vy -. dy *. b.mass *. strength;
  a.vz <- a.vz -. dz *. b.mass *. strength;
  b.vx <- b.vx +. dx *. a.mass *. strength;
  b.vy <- b.vy +. dy *. a.mass *. strength;
  b.vz <- b.vz +. dz *. a.mass *. strength
let advance bodies step =
  let n = Array.length bodies in
  for i = 0 to n - 1 do
    for j = i + 1 to n - 1 do pull bodies.(i) bodies.(j) step done
  done;
  for i = 0 to n - 1 do
    let b = bodies.(i) in
    b.x <- b.x +. step *. b.vx;
    b.y <- b.y +. step *. b.vy;
    b.z <- b.z +. step *. b.vz
  done
let body x y z vx vy vz mass = { x; y; z; vx; vy; vz; mass }
let () =
  let bodies = [| body 0. 0. 0. 0. 0. 0. 40.; body 5. 0. 0.1 0. 2.8 0. 0.04;
                  body 0. 9. 0. (-2.1) 0. 0.1 0.01; body (-15.) 0. 0. 0. (-1.6) 0. 0.002 |] in
  for _ = 1 to 1000000 do advance bodies 0.001 done;
  Printf.printf "%d\n" (int_of_float (bodies.(1).x *. 1000000.))
