B
V4_scalarsJ†œ >K½=–K?