;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 35))
(newline)
