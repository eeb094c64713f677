"""All pages in the order of the menu: file, name and icon."""

PAGES = (
    ("app.py", "Home", ":material/home:"),
    ("pages/0_Decide.py", "Decide", ":material/rule:"),
    ("pages/9_Your_data.py", "Your data", ":material/table_view:"),
    ("pages/1_Simulate.py", "Simulate", ":material/science:"),
    ("pages/2_Horizon.py", "Horizon", ":material/timeline:"),
    ("pages/3_Policies.py", "Policies", ":material/query_stats:"),
    ("pages/4_Safety.py", "Safety", ":material/shield:"),
    ("pages/5_Shift.py", "Shift", ":material/compare_arrows:"),
    ("pages/6_Battery.py", "Battery", ":material/battery_charging_full:"),
    ("pages/7_Runs.py", "Runs", ":material/folder_open:"),
    ("pages/8_Paper.py", "Paper", ":material/article:"),
)
