(* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception *)
let occurrences line letter =
  let found = ref 0 in
  String.iter (fun c -> if c = letter then incr found) line;
  !found
let () =
  let counts = Hashtbl.create 16 and sum = ref 0 and line = ref "" in
  for i = 0 to 999999 do
    let word = "w" ^ string_of_int (i * 7919 mod 10007) in
    (match Hashtbl.find_opt counts word with
     | Some n -> Hashtbl.replace counts word (n + 1)
     | None -> Hashtbl.replace counts word 1);
    line := !line ^ word ^ " ";
    if i mod 20 = 19 then begin
      sum := !sum + occurrences !line '7' + String.length (String.sub !line 3 6);
      line := ""
    end
  done;
  Printf.printf "%d %d %d\n" (Hashtbl.length counts) (Hashtbl.find counts "w77") !sum
