B
H_beside_HJßŽl@º‡@)ž@­	^@