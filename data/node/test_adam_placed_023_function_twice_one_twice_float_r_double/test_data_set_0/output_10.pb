BH2_new_capturedJEÿ
@pŒ$@C£?—b?ù©>?ïŸŽ?