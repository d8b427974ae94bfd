;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
(define (make depth) (if (= depth 0) (cons '() '()) (cons (make (- depth 1)) (make (- depth 1)))))
(define (count t) (if (null? (car t)) 1 (+ 1 (count (car t)) (count (cdr t)))))
(define kept (make 16))
(define (sum i) (if (= i 0) 0 (+ (count (make 16)) (sum (- i 1)))))
(display (+ (sum 20) (count kept)))
(newline)
