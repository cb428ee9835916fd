B
V_new_twinJuы&╬o┌|╬олV>рИ╬зпу╬Ьq2>