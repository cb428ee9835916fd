B
H4_scalarsJøms?ž±ž?)žy@