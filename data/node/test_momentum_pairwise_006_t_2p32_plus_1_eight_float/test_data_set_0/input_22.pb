BV5J≥HKI≈`2H
еищfzHтhг