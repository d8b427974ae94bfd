;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
(declaim (optimize (speed 2) (safety 1)))
(declaim (ftype (function (fixnum) fixnum) fib))
(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(format t "~d~%" (fib 35))
