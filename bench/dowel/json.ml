(* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception *)
type value = { kind : int; number : float; text : string; first : value option; mutable next : value option }
let text = ref "" and at = ref 0
let make kind number text first = { kind; number; text; first; next = None }
let skip () = while !at < String.length !text && !text.[!at] <= ' ' do incr at done
let read_string () =
  let start = !at + 1 in
  at := start;
  while !text.[!at] <> '"' do incr at done;
  incr at;
  String.sub !text start (!at - 1 - start)
let is_digit () = !at < String.length !text && !text.[!at] >= '0' && !text.[!at] <= '9'
let digit () = float_of_int (Char.code !text.[!at] - 48)
let read_number () =
  let whole = ref 0. and scale = ref 1. in
  while is_digit () do whole := !whole *. 10. +. digit (); incr at done;
  if !at < String.length !text && !text.[!at] = '.' then begin
    incr at;
    while is_digit () do
      scale := !scale /. 10.;
      whole := !whole +. digit () *. !scale;
      incr at
    done
  end;
  !whole
let rec read_members stop =
  let first = ref None and last = ref None in
  incr at;
  skip ();
  while !text.[!at] <> stop do
    let v =
      if stop = '}' then begin
        let name = read_string () in
        skip ();
        incr at;
        let v = read_value () in
        make 5 0. name (Some v)
      end else read_value () in
    (match !last with None -> first := Some v | Some l -> l.next <- Some v);
    last := Some v;
    skip ();
    if !text.[!at] = ',' then incr at;
    skip ()
  done;
  incr at;
  !first
and read_value () =
  skip ();
  match !text.[!at] with
  | '{' -> make 3 0. "" (read_members '}')
  | '[' -> make 4 0. "" (read_members ']')
  | '"' -> make 2 0. (read_string ()) None
  | 't' -> at := !at + 4; make 0 1. "" None
  | _ -> make 1 (read_number ()) "" None
let rec sum v =
  let rec parts all = function None -> all | Some p -> parts (all +. sum p) p.next in
  parts v.number v.first +. float_of_int (String.length v.text)
let () =
  text := "[" ^ String.concat ", " (List.init 2000 (fun i ->
    Printf.sprintf "{\"id\": %d, \"name\": \"n%d\", \"tags\": [1, 2.5, 3], \"ok\": true}" i (i * 7))) ^ "]";
  let all = ref 0. in
  for _ = 1 to 20 do at := 0; all := !all +. sum (read_value ()) done;
  Printf.printf "%d\n" (int_of_float !all)
