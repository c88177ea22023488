#!/usr/bin/env python3
"""The official Python client against a built Loom, over standard input and over HTTP, with and without a token.

usage: client.py LOOM
Prints a transcript; the exit status is 0 when everything was as it should be.
"""
import asyncio, json, os, pathlib, subprocess, sys, tempfile, time

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

LOOM = sys.argv[1]
NOTES = {
    "deploy.md": "# Deploy\n\n## Rollback\n\nTo roll back a deploy, run `harborctl rollback` and wait for the lighthouse check.\n",
    "On-call handbook.md": "# On-call handbook\n\n## Paging\n\nThe on-call engineer answers a page within five minutes.\n",
    "refunds.md": "# Refunds\n\nRefunds over 500 euros need a second signature.\n",
}
DEFAULT = {
    "loom_search", "loom_op", "loom_knowledge_add", "loom_knowledge_get", "loom_knowledge_list",
    "loom_knowledge_outline", "loom_knowledge_upsert",
}


def say(*words):
    print(*words, flush=True)


async def converse(client):
    say("  protocol", client.protocol_version)
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == DEFAULT, [tool.name for tool in tools]
    say("  tools", ", ".join(sorted(tool.name for tool in tools)))
    search = next(tool for tool in tools if tool.name == "loom_search")
    assert search.annotations.read_only_hint and search.output_schema
    for question, uri, words in [
        ("how do I roll back a deploy?", "deploy.md", "harborctl rollback"),
        ("who answers a page and how fast?", "handbook.md", "five minutes"),
    ]:
        answer = await client.call_tool("loom_search", {"query": question})
        assert not answer.is_error, answer
        best = answer.structured_content["knowledge"][0]
        assert best["source_uri"].endswith(uri) and words in best["content"], best
        say(f"  {question}\n    -> {best['content'].splitlines()[-1]}\n       [{best['source_uri']} > {best['section']}, revision {best['revision']}]")
    named = await client.call_tool("loom_search", {"query": "on-call handbook"})
    assert [d["title"] for d in named.structured_content["documents"]] == ["On-call handbook"], named
    added = await client.call_tool("loom_knowledge_upsert", {"source_uri": "note", "content": "The harbour opens at six."})
    assert added.structured_content["chunks_created"] == 1, added
    got = await client.call_tool("loom_knowledge_get", {"source_uri": "note"})
    assert got.structured_content["content"] == "The harbour opens at six."
    listed = await client.call_tool("loom_op", {})
    names = {op["op"] for op in listed.structured_content["ops"]}
    assert "knowledge.delete" in names and not names & {"knowledge.search", "knowledge.reads", "token.create"}
    gone = await client.call_tool("loom_op", {"op": "knowledge.delete", "args": {"source_uri": "note"}})
    assert gone.structured_content["deleted"] is True
    for arguments in [{"op": "knowledge.search", "args": {"query": "x"}}, {"op": "knowledge.nothing", "args": {}}]:
        refused = await client.call_tool("loom_op", arguments)
        assert refused.is_error, refused
        say("  refused:", json.loads(refused.content[0].text)["error"]["message"])
    wrong = await client.call_tool("loom_knowledge_get", {})
    assert wrong.is_error and json.loads(wrong.content[0].text)["error"]["field"] == "source_uri", wrong
    resources = (await client.list_resources()).resources
    deploy = next(resource for resource in resources if str(resource.uri).endswith("deploy.md"))
    text = (await client.read_resource(deploy.uri)).contents[0].text
    assert text == NOTES["deploy.md"]
    assert len((await client.list_resource_templates()).resource_templates) == 1
    say("  resources", len(resources))


def loom(data, *arguments, **more):
    return subprocess.run([LOOM, "--data", data, *arguments], check=True, capture_output=True, text=True, **more).stdout


async def main():
    with tempfile.TemporaryDirectory() as folder:
        notes, data = pathlib.Path(folder, "notes"), str(pathlib.Path(folder, "data"))
        notes.mkdir()
        for name, text in NOTES.items():
            (notes / name).write_text(text)
        loom(data, "add", str(notes))

        say("over standard input, on the folder")
        started = time.monotonic()
        async with Client(StdioServerParameters(command=LOOM, args=["mcp", "--data", data])) as client:
            await client.list_tools()
            say(f"  first answer after {time.monotonic() - started:.2f} s")
            await converse(client)

        say("over standard input, reading only")
        async with Client(StdioServerParameters(command=LOOM, args=["mcp", "--read-only", "--data", data])) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == DEFAULT - {"loom_knowledge_add", "loom_knowledge_upsert"}, names
            refused = await client.call_tool("loom_op", {"op": "knowledge.delete", "args": {"source_uri": "x"}})
            assert refused.is_error

        token = loom(data, "token", "create", "agent", "--role", "local=writer").split()[0]
        for words, settings, headers in [
            ("over HTTP", {}, {}),
            ("over HTTP with a token", {"LOOM_AUTH": "token"}, {"authorization": f"Bearer {token}"}),
        ]:
            server = subprocess.Popen(
                [LOOM, "serve", "--data", data, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, env={**os.environ, **settings},
            )
            try:
                base = server.stdout.readline().split()[-1]
                say(words)
                async with httpx2.AsyncClient(headers=headers) as http:
                    async with Client(streamable_http_client(f"{base}/mcp", http_client=http)) as client:
                        await converse(client)
                say("over standard input, through the server that holds the folder" if not settings else "without the token")
                if settings:
                    answer = httpx2.post(f"{base}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
                    assert answer.status_code == 401, answer
                else:
                    async with Client(StdioServerParameters(command=LOOM, args=["mcp", "--data", data])) as client:
                        await converse(client)
            finally:
                server.terminate()
                assert server.wait(20) == 0

        say("the end of the input ends the process")
        ended = subprocess.run([LOOM, "mcp", "--data", data], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        assert ended.returncode == 0, ended
    say("all as it should be")


asyncio.run(main())
