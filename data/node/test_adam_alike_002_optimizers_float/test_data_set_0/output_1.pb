B
V_new_adamJv÷д?qГ@Ы“•?дь@