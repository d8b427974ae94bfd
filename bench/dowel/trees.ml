(* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception *)
type tree = Leaf | Node of tree * tree
let rec make depth = if depth = 0 then Node (Leaf, Leaf) else Node (make (depth - 1), make (depth - 1))
let rec count = function Leaf -> 0 | Node (a, b) -> 1 + count a + count b
let () =
  let kept = make 16 in
  let sum = ref 0 in
  for _ = 1 to 20 do sum := !sum + count (make 16) done;
  Printf.printf "%d\n" (!sum + count kept)
