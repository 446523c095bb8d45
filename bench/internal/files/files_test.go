package files

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHandlerSendsRecordedResponses(t *testing.T) {
	dir := Directory(t.TempDir())
	put := func(set string, i int, body string) {
		t.Helper()
		header := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}, "Audit-Id": {"7"}}
		if err := dir.Put(set, i, header, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	put("walk", 0, "first")
	put("walk", 1, "second")
	put("list", 0, "all")
	server := httptest.NewServer(&Handler{Directory: dir})
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	for _, want := range []struct {
		path, body string
		status     int
	}{
		{Path("walk", 0), "first", 200}, {Path("walk", 1), "second", 200}, {Path("list", 0), "all", 200}, {Path("walk", 0), "first", 200},
		{Ping, "", 200}, {Path("walk", 2), "", 404}, {"/../walk/0.header", "", 404},
	} {
		response, err := client.Get(server.URL + want.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != want.status || want.status == 200 && string(body) != want.body {
			t.Errorf("%s: %s %q %v", want.path, response.Status, body, err)
		}
		if want.body != "" && (response.Header.Get("Content-Encoding") != "gzip" || response.Header.Get("Audit-Id") != "") {
			t.Errorf("%s: header %v", want.path, response.Header)
		}
	}
}
