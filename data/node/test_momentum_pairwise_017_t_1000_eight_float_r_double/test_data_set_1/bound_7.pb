BX8_newJ8ด
Q0ฐ–>4VWรท”>ุSฌจO >ดdmฎ>๗ฒa/ฃ“>็VFCก>qrษMฯฆ>