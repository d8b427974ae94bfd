;;; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;;;
;;; sbcl --script heap.lisp CORE OBJECTS: saves a core with that many objects of five references and seven numbers
;;; each. A program that starts with it prints a line; with an argument, the sum of the last numbers of all objects.

(defstruct item
  r0 r1 r2 r3 r4
  (n0 0 :type fixnum) (n1 0 :type fixnum) (n2 0 :type fixnum) (n3 0 :type fixnum)
  (n4 0 :type fixnum) (n5 0 :type fixnum) (n6 0 :type fixnum))

(defvar *all*)

(defun build (count)
  (let ((all (make-array count)))
    (dotimes (i count)
      (setf (aref all i) (make-item :n0 i :n6 i)))
    (dotimes (i count)
      (let ((item (aref all i)))
        (setf (item-r0 item) (aref all (mod (* i 7) count)) (item-r1 item) (aref all (mod (* i 11) count))
              (item-r2 item) (aref all (mod (* i 13) count)) (item-r3 item) (aref all (mod (+ i 1) count))
              (item-r4 item) (aref all (mod (+ i 64) count)))))
    (setf *all* all)))

(defun main ()
  (write-line (if (cdr sb-ext:*posix-argv*)
                  (write-to-string (loop for item across (the simple-vector *all*) sum (item-n6 (the item item))))
                  "started"))
  (finish-output)
  (sb-ext:exit :code 0 :abort t))

(let ((arguments (cdr sb-ext:*posix-argv*)))
  (build (parse-integer (second arguments)))
  (sb-ext:save-lisp-and-die (first arguments) :executable t :toplevel #'main :save-runtime-options t))
