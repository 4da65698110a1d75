// Seals with Go's AES-GCM and nonces of 32 bytes, as SOPS does: a line of the file is key, nonce,
// additional data and text, each in hexadecimal; what comes out is text and tag, in hexadecimal.
package main

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

func main() {
	in, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(in)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var fields [4][]byte
		for at, field := range strings.Split(lines.Text(), ",") {
			if fields[at], err = hex.DecodeString(field); err != nil {
				panic(err)
			}
		}
		block, err := aes.NewCipher(fields[0])
		if err != nil {
			panic(err)
		}
		gcm, err := cipher.NewGCMWithNonceSize(block, 32)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(out, hex.EncodeToString(gcm.Seal(nil, fields[1], fields[3], fields[2])))
	}
}
