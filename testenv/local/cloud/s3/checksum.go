package s3

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// defaultChecksum is what S3 computes when a client sends none.
const defaultChecksum = "crc64nvme"

// nvme is the CRC-64 of the NVM Express specification, in the reflected form
// hash/crc64 takes.
var nvme = crc64.MakeTable(0x9a6c9329ac4bc9b5)

// algorithms are the checksums S3 knows, keyed by the end of their header
// "x-amz-checksum-…".
var algorithms = map[string]func() hash.Hash{
	"crc32":     func() hash.Hash { return crc32.NewIEEE() },
	"crc32c":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"crc64nvme": func() hash.Hash { return crc64.New(nvme) },
	"sha1":      sha1.New,
	"sha256":    sha256.New,
}

func checksum(algorithm string, body []byte) string {
	h := algorithms[algorithm]()
	h.Write(body)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// verifyChecksums checks body against every checksum among the headers or
// trailers of a request and returns the checksums to keep.
func verifyChecksums(header http.Header, body []byte) (map[string]string, error) {
	if declared := header.Get("Content-Md5"); declared != "" {
		sum := md5.Sum(body)
		decoded, err := base64.StdEncoding.DecodeString(declared)
		if err != nil || len(decoded) != md5.Size {
			return nil, wire.Errorf("InvalidDigest", "The Content-MD5 you specified was invalid.")
		}
		if string(decoded) != string(sum[:]) {
			return nil, wire.Errorf("BadDigest", "The Content-MD5 you specified did not match what we received.")
		}
	}
	kept := map[string]string{}
	for _, algorithm := range slices.Sorted(maps.Keys(algorithms)) {
		declared := header.Get("X-Amz-Checksum-" + algorithm)
		if declared == "" {
			continue
		}
		computed := checksum(algorithm, body)
		decoded, err := base64.StdEncoding.DecodeString(declared)
		if err != nil || len(decoded) != algorithms[algorithm]().Size() {
			return nil, wire.Errorf("InvalidRequest", "Value for x-amz-checksum-%s header is invalid.", algorithm)
		}
		if computed != declared {
			return nil, wire.Errorf("BadDigest", "The %s you specified did not match the calculated checksum.", strings.ToUpper(algorithm))
		}
		kept[algorithm] = computed
	}
	if len(kept) > 1 {
		return nil, wire.Errorf("InvalidRequest", "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
	}
	if len(kept) == 0 {
		algorithm := strings.ToLower(header.Get("X-Amz-Sdk-Checksum-Algorithm"))
		if algorithms[algorithm] == nil {
			algorithm = defaultChecksum
		}
		kept[algorithm] = checksum(algorithm, body)
	}
	return kept, nil
}

func (o *object) setChecksums(h http.Header) {
	for algorithm, value := range o.checksums {
		h.Set("x-amz-checksum-"+algorithm, value)
	}
	h.Set("x-amz-checksum-type", "FULL_OBJECT")
}
