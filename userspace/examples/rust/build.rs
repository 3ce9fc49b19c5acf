// SPDX-License-Identifier: LGPL-2.1-or-later
//! Finds the installed library by pkg-config.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let found = Command::new("pkg-config")
        .args(["--libs", "cintio"])
        .output()
        .expect("pkg-config is not installed");
    if !found.status.success() {
        panic!("{}", String::from_utf8_lossy(&found.stderr));
    }
    for word in String::from_utf8_lossy(&found.stdout).split_whitespace() {
        if let Some(directory) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={directory}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
}
