;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
(define (occurrences line letter)
  (let loop ((i 0) (found 0))
    (if (= i (string-length line)) found
        (loop (+ i 1) (if (char=? (string-ref line i) letter) (+ found 1) found)))))
(define counts (make-hash-table))
(define (run i sum line)
  (if (= i 1000000) sum
      (let* ((word (string-append "w" (number->string (modulo (* i 7919) 10007))))
             (line (string-append line word " ")))
        (hash-set! counts word (+ 1 (hash-ref counts word 0)))
        (if (= (modulo i 20) 19)
            (run (+ i 1) (+ sum (occurrences line #\7) (string-length (substring line 3 9))) "")
            (run (+ i 1) sum line)))))
(define sum (run 0 0 ""))
(display (hash-count (const #t) counts)) (display " ")
(display (hash-ref counts "w77")) (display " ")
(display sum)
(newline)
