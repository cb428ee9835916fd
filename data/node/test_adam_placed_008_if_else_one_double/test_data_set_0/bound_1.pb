BX_new_laterJ0ýฉ?dL3>QP
>JI
สca>ฒC…๔ฤะU>ฃฝ๎\s>ำ>มัQ1e>