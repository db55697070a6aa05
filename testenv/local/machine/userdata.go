package machine

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

const (
	nodeConfigMediaType = "application/node.eks.aws"
	// maxUserDataBytes is EC2's limit on user data before it is encoded.
	maxUserDataBytes = 16 << 10
	// maxUnpackedBytes bounds what compressed user data may become. It is ours:
	// a real instance has its memory for a limit.
	maxUnpackedBytes = 1 << 20
)

// ReadUserData returns the NodeConfig that user data amounts to. It is a MIME
// multipart message of which each part of type application/node.eks.aws is a
// NodeConfig, a later one over an earlier one, or a NodeConfig alone. The
// whole and each part may be encoded in base64 and compressed with gzip. Other
// parts are for cloud-init and are left out.
//
// The error says why the instance would not join: no NodeConfig, a document
// that cannot be read, or cluster details that are missing.
func ReadUserData(data []byte) (NodeConfig, error) {
	if len(data) > maxUserDataBytes {
		return NodeConfig{}, fmt.Errorf("user data has %d bytes, EC2 allows %d", len(data), maxUserDataBytes)
	}
	data, err := unpack(data)
	if err != nil {
		return NodeConfig{}, fmt.Errorf("unpack user data: %w", err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return NodeConfig{}, errors.New("user data is empty")
	}
	config, err := readDocuments(data)
	if err != nil {
		return NodeConfig{}, err
	}
	if err := config.validate(); err != nil {
		return NodeConfig{}, err
	}
	return config, nil
}

func readDocuments(data []byte) (NodeConfig, error) {
	parts := multipartReader(data)
	if parts == nil {
		return decodeNodeConfig(data)
	}
	var merged *NodeConfig
	for n := 1; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return NodeConfig{}, fmt.Errorf("user data, part %d: %w", n, err)
		}
		config, ok, err := readPart(part)
		if err != nil {
			return NodeConfig{}, fmt.Errorf("user data, part %d: %w", n, err)
		}
		switch {
		case !ok:
		case merged == nil:
			merged = &config
		default:
			merged.merge(config)
		}
	}
	if merged == nil {
		return NodeConfig{}, errors.New("user data has no part of type " + nodeConfigMediaType)
	}
	return *merged, nil
}

// readPart returns a part's NodeConfig; ok is false where it is for another reader.
func readPart(part *multipart.Part) (config NodeConfig, ok bool, err error) {
	header := part.Header.Get("Content-Type")
	if header == "" {
		return NodeConfig{}, false, nil
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err != nil {
		return NodeConfig{}, false, fmt.Errorf("content type %q: %w", header, err)
	}
	if mediaType != nodeConfigMediaType {
		return NodeConfig{}, false, nil
	}
	data, err := io.ReadAll(part)
	if err != nil {
		return NodeConfig{}, false, err
	}
	if data, err = unpack(data); err != nil {
		return NodeConfig{}, false, err
	}
	config, err = decodeNodeConfig(data)
	return config, err == nil, err
}

// multipartReader returns nil where the data is not a multipart message.
func multipartReader(data []byte) *multipart.Reader {
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	mediaType, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(mediaType, "multipart/") {
		return nil
	}
	return multipart.NewReader(message.Body, parameters["boundary"])
}

// unpack takes off base64 and then gzip, each where it is there.
func unpack(data []byte) ([]byte, error) {
	if decoded, err := base64.StdEncoding.DecodeString(string(data)); err == nil {
		data = decoded
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	unpacked, err := io.ReadAll(io.LimitReader(reader, maxUnpackedBytes+1))
	if err != nil {
		return nil, err
	}
	if len(unpacked) > maxUnpackedBytes {
		return nil, fmt.Errorf("it unpacks to more than %d bytes", maxUnpackedBytes)
	}
	return unpacked, nil
}
