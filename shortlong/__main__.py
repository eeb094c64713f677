"""``python -m shortlong``."""

from shortlong.cli import main

if __name__ == "__main__":
    main()
