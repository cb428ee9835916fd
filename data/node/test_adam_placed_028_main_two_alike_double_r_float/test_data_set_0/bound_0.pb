BX1_new_capturedJ æ+ÁtCV>1«æƒu™T>›
-0Ý§9>LÌ.}óO>