(* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception *)

(* The workloads of bench/gc in OCaml: workloads NAME [ARGUMENT...]. Standard output is the same. *)

let argument index otherwise =
  if index + 1 < Array.length Sys.argv then int_of_string Sys.argv.(index + 1) else otherwise

(* Numbers of 64 bits stay unboxed within a function; between calls, the state lies in bytes. *)
external get : bytes -> int -> int64 = "%caml_bytes_get64u"
external set : bytes -> int -> int64 -> unit = "%caml_bytes_set64u"

let state =
  let b = Bytes.create 8 in
  set b 0 88172645463325252L;
  b

(* The next random number modulo m, as a number without sign. *)
let next_random m =
  let x = get state 0 in
  let x = Int64.logxor x (Int64.shift_left x 13) in
  let x = Int64.logxor x (Int64.shift_right_logical x 7) in
  let x = Int64.logxor x (Int64.shift_left x 17) in
  set state 0 x;
  let quarter = Int64.to_int (Int64.shift_right_logical x 2) in
  ((quarter mod m * 4) + (Int64.to_int x land 3)) mod m

(* ---- bt ---- *)

type tree = Leaf | Tree of { mutable left : tree; mutable right : tree }

let rec make depth =
  if depth > 0 then
    let left = make (depth - 1) in
    Tree { left; right = make (depth - 1) }
  else Tree { left = Leaf; right = Leaf }

let rec count = function
  | Leaf -> 0
  | Tree { left = Leaf; _ } -> 1
  | Tree { left; right } -> 1 + count left + count right

let bt () =
  let smallest = 4 and depth = argument 1 18 in
  Printf.printf "stretch tree of depth %d\t check: %d\n" (depth + 1) (count (make (depth + 1)));
  let lasting = make depth in
  let d = ref smallest in
  while !d <= depth do
    let rounds = 1 lsl (depth - !d + smallest) and sum = ref 0 in
    for _ = 1 to rounds do
      sum := !sum + count (make !d)
    done;
    Printf.printf "%d\t trees of depth %d\t check: %d\n" rounds !d !sum;
    d := !d + 2
  done;
  Printf.printf "long lived tree of depth %d\t check: %d\n" depth (count lasting)

(* ---- gcbench ---- *)

type node = None_ | Node of { mutable left : node; mutable right : node; i : int; j : int }

let new_node () = Node { left = None_; right = None_; i = 0; j = 0 }

let rec grow_down depth = function
  | Node n when depth > 0 ->
      n.left <- new_node ();
      n.right <- new_node ();
      grow_down (depth - 1) n.left;
      grow_down (depth - 1) n.right
  | _ -> ()

let rec grow_up depth =
  if depth <= 0 then new_node ()
  else
    let left = grow_up (depth - 1) in
    let right = grow_up (depth - 1) in
    Node { left; right; i = 0; j = 0 }

let size_of_tree depth = (2 lsl depth) - 1

let gcbench () =
  let length = 500000 and smallest = 4 in
  let lasting_depth = argument 1 16 and largest = argument 2 16 in
  ignore (Sys.opaque_identity (grow_up (largest + 2)));
  let lasting = new_node () in
  grow_down lasting_depth lasting;
  let array = Array.make length 0.0 in
  for i = 0 to (length / 2) - 1 do
    array.(i) <- 1.0 /. float (i + 1)
  done;
  let d = ref smallest in
  while !d <= largest do
    let rounds = 2 * size_of_tree (largest + 2) / size_of_tree !d in
    for _ = 1 to rounds do
      grow_down !d (new_node ())
    done;
    for _ = 1 to rounds do
      ignore (Sys.opaque_identity (grow_up !d))
    done;
    d := !d + 2
  done;
  (match lasting with
  | Node { left = Node _; _ } when array.(1000) = 1.0 /. 1001.0 -> ()
  | _ -> print_endline "failed");
  print_endline "ok"

(* ---- young ---- *)

type small = Nil | Small of { mutable next : small; mutable word : int }

type held =
  | Empty
  | Middle of { mutable next : small; mutable m0 : int; m1 : int; m2 : int }
  | Large of {
      mutable next : small;
      mutable l0 : int;
      l1 : int;
      l2 : int;
      l3 : int;
      l4 : int;
      l5 : int;
      l6 : int;
    }

let young () =
  let size = 1024 and count = argument 1 100 * 1000000 and sum = ref 0 and i = ref 0 in
  let ring = Array.make size Empty in
  while !i < count do
    let slot = !i / 2 mod size in
    let m = Middle { next = Small { next = Nil; word = !i }; m0 = !i; m1 = 0; m2 = 0 } in
    let second = Small { next = Nil; word = !i } in
    let l = Large { next = second; l0 = !i; l1 = 0; l2 = 0; l3 = 0; l4 = 0; l5 = 0; l6 = 0 } in
    ring.(slot) <- m;
    ring.(slot + 1) <- l;
    (match m with Middle { next = Small s; _ } -> sum := !sum + s.word | _ -> ());
    i := !i + 4
  done;
  Printf.printf "sum %d\n" !sum

(* ---- lru ---- *)

type value = { w0 : int; w1 : int; w2 : int }

type entry =
  | Absent
  | Entry of {
      key : int;
      mutable chain : entry;
      mutable newer : entry;
      mutable older : entry;
      mutable value : value;
    }

let buckets = ref [||]
let newest = ref Absent
let oldest = ref Absent
let live = ref 0
let capacity = ref 0
let hits = ref 0
let total = ref 0

(* The same bits as of the product of 64 bits. *)
let bucket_of key = (key * 0x1E3779B97F4A7C15) lsr 20 land (Array.length !buckets - 1)
let make_value key = { w0 = key; w1 = key; w2 = key }

let unlink = function
  | Absent -> ()
  | Entry e ->
      (match e.newer with Entry n -> n.older <- e.older | Absent -> newest := e.older);
      (match e.older with Entry o -> o.newer <- e.newer | Absent -> oldest := e.newer)

let make_newest entry =
  match entry with
  | Absent -> ()
  | Entry e ->
      e.newer <- Absent;
      e.older <- !newest;
      (match !newest with Entry n -> n.newer <- entry | Absent -> oldest := entry);
      newest := entry

let rec unchain at entry next =
  match at with
  | Entry a when a.chain == entry -> a.chain <- next
  | Entry a -> unchain a.chain entry next
  | Absent -> ()

let evict () =
  match !oldest with
  | Absent -> ()
  | Entry e as entry ->
      let bucket = bucket_of e.key in
      if !buckets.(bucket) == entry then !buckets.(bucket) <- e.chain
      else unchain !buckets.(bucket) entry e.chain;
      unlink entry;
      decr live

let rec find entry wanted =
  match entry with Entry e when e.key <> wanted -> find e.chain wanted | _ -> entry

let request key =
  let bucket = bucket_of key in
  match find !buckets.(bucket) key with
  | Entry e as entry ->
      incr hits;
      total := !total + e.value.w0;
      unlink entry;
      make_newest entry;
      if !hits mod 4 = 0 then e.value <- make_value key
  | Absent ->
      if !live = !capacity then evict ();
      let value = make_value key in
      let entry = Entry { key; value; chain = !buckets.(bucket); newer = Absent; older = Absent } in
      !buckets.(bucket) <- entry;
      make_newest entry;
      incr live

let lru () =
  let batch = 1000 and requests = argument 2 20000000 in
  capacity := argument 1 4000000;
  let length = ref 1 and worst = ref 0.0 in
  while !length < !capacity do
    length := 2 * !length
  done;
  buckets := Array.make !length Absent;
  for key = 0 to !capacity - 1 do
    request key
  done;
  let start = Unix.gettimeofday () and i = ref 0 in
  while !i < requests do
    let before = Unix.gettimeofday () in
    for _ = 1 to batch do
      request (next_random (!capacity * 2))
    done;
    worst := Float.max !worst (Unix.gettimeofday () -. before);
    i := !i + batch
  done;
  Printf.eprintf "loop %.3f s, worst %d requests %.2f ms\n" (Unix.gettimeofday () -. start) batch (!worst *. 1e3);
  Printf.printf "hits %d sum %d live %d\n" !hits !total !live

(* ---- latency ---- *)

type keyed = Bottom | Keyed of { left : keyed; right : keyed; k0 : int; k1 : int }

let rec make_keyed depth key =
  if depth > 0 then
    let left = make_keyed (depth - 1) (2 * key) in
    Keyed { left; right = make_keyed (depth - 1) ((2 * key) + 1); k0 = key; k1 = 0 }
  else Keyed { left = Bottom; right = Bottom; k0 = key; k1 = 0 }

let rec add_up = function
  | Bottom -> 0
  | Keyed { left = Bottom; k0; _ } -> k0
  | Keyed { left; right; k0; _ } -> k0 + add_up left + add_up right

let report times total =
  Array.sort compare times;
  let count = Array.length times in
  Printf.eprintf "loop %.3f s, us:" total;
  List.iter
    (fun part -> Printf.eprintf " p%g %.0f" (part *. 100.) (times.(int_of_float (float count *. part)) *. 1e6))
    [ 0.5; 0.99; 0.999; 0.9999 ];
  Printf.eprintf " max %.0f\n" (times.(count - 1) *. 1e6)

let latency () =
  let depth = 9 and garbage = 4 and looks = 4 and replaced = 8 in
  let requests = argument 1 50000 and trees = argument 2 15625 and sum = ref 0 in
  let store = Array.init trees (fun i -> make_keyed depth i) in
  let times = Array.make requests 0.0 and start = Unix.gettimeofday () in
  for i = 0 to requests - 1 do
    let begun = Unix.gettimeofday () in
    for _ = 1 to garbage do
      sum := !sum + add_up (make_keyed depth i)
    done;
    if i mod replaced = 0 then begin
      let index = next_random trees in
      store.(index) <- make_keyed depth i
    end;
    for _ = 1 to looks do
      sum := !sum + add_up store.(next_random trees)
    done;
    times.(i) <- Unix.gettimeofday () -. begun
  done;
  report times (Unix.gettimeofday () -. start);
  Printf.printf "sum %d\n" !sum

let () =
  match Sys.argv.(1) with
  | "bt" -> bt ()
  | "gcbench" -> gcbench ()
  | "young" -> young ()
  | "lru" -> lru ()
  | "latency" -> latency ()
  | _ -> exit 2
