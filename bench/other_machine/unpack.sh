# Sourced by the jobs beside it, in their folder: programs and libraries are unpacked and found.
for file in *.xz lib/*.xz; do [ -f "${file%.xz}" ] || [ ! -f "$file" ] || [[ $file = *.tar.xz ]] || xz -dk "$file"; done
for file in *; do [ ! -f "$file" ] || [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || chmod +x "$file"; done
export LD_LIBRARY_PATH=$PWD/lib PYTHONUNBUFFERED=1
