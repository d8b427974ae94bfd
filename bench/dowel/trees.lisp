;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
(declaim (optimize (speed 2) (safety 1)))
(declaim (ftype (function (fixnum) cons) make) (ftype (function (cons) fixnum) total))
(defun make (depth) (if (= depth 0) (cons nil nil) (cons (make (- depth 1)) (make (- depth 1)))))
(defun total (tree) (if (null (car tree)) 1 (+ 1 (total (car tree)) (total (cdr tree)))))
(let ((kept (make 16)) (sum 0))
  (declare (fixnum sum))
  (dotimes (i 20) (incf sum (total (make 16))))
  (format t "~d~%" (+ sum (total kept))))
